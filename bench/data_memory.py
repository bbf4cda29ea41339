"""The memory of the readers, and of all that Ray runs beside them, while either way reads."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.synth import PROC
from rehearsal.processes import process_table

SAMPLE_SECONDS = 0.25


@dataclass
class Peak:
    """The most bytes seen: of one reader, and at once of all other processes of Ray, which are below this one."""

    reader: int = 0
    beside: int = 0


def proportional_bytes(folder: Path) -> int:
    """Return a process's resident memory, its part of what it shares: so a sum holds the object store once.

    `folder` is its own below /proc. None of a process that has ended.
    """
    with suppress(OSError):
        for line in (folder / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def look(peak: Peak, readers: Sequence[int]) -> None:
    """Raise `peak` to what is resident now."""
    found = {pid: proportional_bytes(PROC / str(pid)) for pid in below(os.getpid(), process_table())}
    peak.reader = max(peak.reader, *(found.get(pid, 0) for pid in readers))
    peak.beside = max(peak.beside, sum(size for pid, size in found.items() if pid not in readers))


def below(pid: int, parents: dict[int, int]) -> set[int]:
    """Return the descendants of a process."""
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


@contextmanager
def watched(readers: Sequence[int]) -> Iterator[Peak]:
    """Look four times a second, until the block ends."""
    peak, ended = Peak(), threading.Event()

    def watch() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            look(peak, readers)

    thread = threading.Thread(target=watch, daemon=True)
    look(peak, readers)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()
