"""Runs `python -m rehearsal` and watches what it leaves behind: processes, listening sockets, files."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.processes import PR_SET_CHILD_SUBREAPER, process_table

ROOT = Path(__file__).parent.parent.parent
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
LISTENING = "0A"


@dataclass
class Outcome:
    """How a rehearsal ended."""

    code: int
    output: str
    # Process ids and file names that are still there; (address, port) pairs on which it listened at some time.
    leftovers: list[str]
    listened: set[tuple[str, int]] = field(default_factory=set)

    @property
    def still_listening(self) -> set[tuple[str, int]]:
        """What it listened on, and somebody listens on now."""
        return self.listened & set(listening().values())

    @property
    def other_than_loopback(self) -> set[tuple[str, int]]:
        """What it listened on and other machines could reach."""
        return {pair for pair in self.listened if pair[0] not in LOOPBACK}


def rehearse(*arguments: str, output: Path, signal_at: str = "", number: signal.Signals = signal.SIGINT) -> Outcome:
    """Run a rehearsal to its end; send it `number` when its output holds `signal_at`."""
    # Whatever outlives the rehearsal becomes a child of this process, and is seen.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    children_before = _children()
    listened: set[tuple[str, int]] = set()
    log = output.parent / f"{output.name}.log"
    with tempfile.TemporaryDirectory(prefix="rt-") as folder, log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "rehearsal", "--output", str(output), *arguments],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": folder},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        sent = not signal_at
        while process.poll() is None:
            time.sleep(0.3)
            listened |= _listening_below(process.pid)
            if not sent and signal_at in log.read_text():
                process.send_signal(number)
                sent = True
        left = [f"process {pid}" for pid in _children() - children_before]
        left += [f"file {path}" for path in Path(folder).iterdir()]
    return Outcome(process.returncode, log.read_text(), left, listened)


def listening() -> dict[str, tuple[str, int]]:
    """Return the (address, port) of each listening TCP socket of this machine, by inode."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENING:
                address, _, port = words[1].partition(":")
                found[words[9]] = (address, int(port, 16))
    return found


def _listening_below(pid: int) -> set[tuple[str, int]]:
    parents, family = process_table(), {pid}
    while below := {child for child, parent in parents.items() if parent in family} - family:
        family |= below
    sockets, found = listening(), set()
    for member in family:
        with suppress(OSError):
            for link in Path(f"/proc/{member}/fd").iterdir():
                with suppress(OSError):
                    inode = str(link.readlink()).removeprefix("socket:[").removesuffix("]")
                    if inode in sockets:
                        found.add(sockets[inode])
    return found


def _children() -> set[int]:
    return {pid for pid, parent in process_table().items() if parent == os.getpid()}
