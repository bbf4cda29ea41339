"""Processes that do not outlive the rehearsal, whatever ends it.

Ray puts its workers and the job's driver into sessions of their own, so ending the process groups that we started is
not enough. On Linux this process adopts every orphan below it (PR_SET_CHILD_SUBREAPER), so that none gets out of sight.

What cannot be caught, such as SIGKILL, ends one process only: `supervised` makes two, each of which cleans up after the
other.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

# `ray start --block` takes one to two seconds to end its children; what has not gone by then is killed.
GRACE_SECONDS = 6.0
POLL_SECONDS = 0.05
PR_SET_CHILD_SUBREAPER = 36
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asks the rehearsal to end. `exit_code` is what a shell expects then: 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into Interrupted; swallow the rest, for they would stop the clean-up."""
    interrupted = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise Interrupted(number)

    previous = {number: signal.signal(number, handle) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class OwnProcesses:
    """A context manager: on exit, every process started through it and every descendant of one is gone."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Adopt orphans from now on."""
        _adopt_orphans(True)
        return self

    def start(
        self, command: Sequence[str], variables: Mapping[str, str], folder: Path, log: Path
    ) -> subprocess.Popen[bytes]:
        """Start `command` in a session of its own (a terminal's Ctrl-C is ours to handle), output to `log`."""
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - no shell, and the command is ours
                command,
                env=dict(variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def wait(self, process: subprocess.Popen[bytes], seconds: float) -> int | None:
        """Return the exit code of `process`, None when it still runs after `seconds`."""
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them: TERM, GRACE_SECONDS, KILL, and once more for what was forked meanwhile."""
        # Taken first: once its parent has gone, a process is found only where orphans are adopted.
        doomed = self._descendants()
        for process in self._started:
            # Each leads its group, which outlives it: a head that was killed leaves its GCS there.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and (doomed := self._alive(doomed)):
            time.sleep(POLL_SECONDS)
        while doomed := self._alive(doomed):
            for pid in doomed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_SECONDS)
        _adopt_orphans(False)

    def _descendants(self) -> set[int]:
        """Return the processes that we started and all below them; adopted ones are below us, in another session."""
        parents = process_table()
        session = os.getsid(0)
        found = {process.pid for process in self._started if process.returncode is None}
        found |= {pid for pid, parent in parents.items() if parent == os.getpid() and _session(pid) != session}
        while below := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= below
        return found

    def _alive(self, doomed: set[int]) -> set[int]:
        for process in self._started:
            process.poll()
        for pid in doomed - {process.pid for process in self._started}:
            # Adopted: it stays a zombie until we have taken its exit status.
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return (doomed & process_table().keys()) | self._descendants()


def supervised(work: Callable[[], int]) -> int:
    """Return what `work` returns, which a child does; in the child, this returns too, for it to leave by the same way.

    The child is told when this process dies, and ends as on SIGTERM; when the child dies, what was below it is ended
    here. Only for a process without threads.
    """
    told, held = os.pipe()
    with OwnProcesses():
        child = os.fork()
        if child == 0:
            os.close(held)
            # Out of the group, which `timeout` and shells kill as one.
            os.setsid()
            threading.Thread(target=_end_with_parent, args=(told,), daemon=True).start()
            return work()
        os.close(told)

        def forward(number: int, frame: FrameType | None) -> None:
            with suppress(ProcessLookupError):
                os.kill(child, number)

        for number in ENDING:
            signal.signal(number, forward)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(held)
    return code if code >= 0 else 128 - code


def process_table() -> dict[int, int]:
    """Return the parent of each process of this machine."""
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)  # noqa: S607
        return {int(pid): int(parent) for pid, parent in map(str.split, listing.stdout.splitlines())}
    table = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has gone meanwhile
                # "pid (name) state parent ...", and a name may hold anything, also ") ".
                table[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
    return table


def tail(log: Path, lines: int) -> str:
    """Return the last lines of a log, or that there is none."""
    try:
        text = log.read_text(errors="replace").strip()
    except OSError:
        text = ""
    return "\n".join(text.splitlines()[-lines:]) or "(no output)"


def _end_with_parent(pipe: int) -> None:
    # Nobody writes to it: this returns when the other end, which only the parent has, is closed.
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return os.getsid(0)


def _adopt_orphans(on: bool) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)
