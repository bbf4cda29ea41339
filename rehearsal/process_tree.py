"""The processes below one of ours, and signals to them. `titled`, `state` and `alive` read /proc, which Linux has."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rehearsal.processes import process_table


def children(parent: int) -> list[int]:
    """Return the direct children of process `parent`."""
    return [pid for pid, above in process_table().items() if above == parent]


def descendants(parent: int) -> list[int]:
    """Return all processes below process `parent`."""
    table = process_table()
    found = [parent]
    for above in found:
        found += [pid for pid, its_parent in table.items() if its_parent == above]
    return found[1:]


def titled(words: str, pids: Iterable[int]) -> list[int]:
    """Return those of `pids` whose command line holds `words`."""
    return [pid for pid in pids if words in _read(pid, "cmdline").replace("\0", " ")]


def state(pid: int) -> str:
    """Return the state of a process as the kernel's letter: R, S, T when stopped, Z when ended or gone."""
    return (_read(pid, "stat").rpartition(") ")[2] or "Z")[0]


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended and waits for its parent does not."""
    return state(pid) != "Z"


def send(pid: int, number: int) -> None:
    """Send a signal, unless the process has gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
