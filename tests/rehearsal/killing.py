"""Kills a command with what it started, and sees what stays."""

import ctypes
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rehearsal.processes import PR_SET_CHILD_SUBREAPER, process_table
from tests.rehearsal.watch import ROOT, Outcome, _children, _listening_below

# The clean-up waits six seconds before it kills.
GONE_SECONDS = 20


def kill(command: list[str], log: Path, when: Callable[[set[Path], str], bool], victim: int | None = None) -> Outcome:
    """Start a command, SIGKILL it once `when` holds of its run folder and its output, and see what stays.

    `victim` is the place in the output of the process id to kill; without it, it is the command's whole process group.
    """
    # What outlives it becomes a child of this process, and is seen.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children()
    with tempfile.TemporaryDirectory(prefix="rt-") as folder, log.open("w") as file:
        variables = os.environ | {"TMPDIR": folder}
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        end = time.monotonic() + 90
        try:
            while not when(folders := _run_folders(below(process.pid)), log.read_text()):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.1)
        except AssertionError:
            process.terminate()
            process.wait(GONE_SECONDS)
            raise
        family, listened = below(process.pid), _listening_below(process.pid)
        if victim is None:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            os.kill(int(log.read_text().split()[victim]), signal.SIGKILL)
        process.wait(GONE_SECONDS)
        end = time.monotonic() + GONE_SECONDS
        while (left := _left(family, before, {*folders, *Path(folder).iterdir()})) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in alive(family):
            # A test that fails leaves nothing either.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert len(family) > 1, "it had no children: the watch is blind"
    assert folders, "its run folder was not found: the watch is blind"
    return Outcome(process.returncode, log.read_text(), left, listened)


def _left(family: set[int], before: set[int], paths: set[Path]) -> list[str]:
    alive(family)
    # Also what was started since, and what was adopted here.
    family |= {pid for known in family & process_table().keys() for pid in below(known)}
    family |= _children() - before
    return [f"process {pid}" for pid in sorted(alive(family))] + [f"file {path}" for path in paths if path.exists()]


def _run_folders(family: set[int]) -> set[Path]:
    """Return where the logs of these processes are: TMPDIR does not say, for Ray's sockets want a short path."""
    found = set()
    for pid in family:
        with suppress(OSError):
            found.add(Path(f"/proc/{pid}/fd/1").readlink().parent)
    return {folder for folder in found if folder.name.startswith("rr-")}


def alive(family: set[int]) -> set[int]:
    """Return those of these processes that have not ended."""
    for pid in family:
        # Adopted: it stays a zombie until we have taken its exit status.
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return family & process_table().keys()


def below(pid: int) -> set[int]:
    """Return a process and all that it started, directly or not."""
    parents, family = process_table(), {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family
