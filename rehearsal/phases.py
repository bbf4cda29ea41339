"""How long each phase of a rehearsal took, announced while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """A finished phase; seconds since the rehearsal began, and seconds that it took."""

    name: str
    start: float
    seconds: float


class Phases:
    """The phases so far, in order. `announce` gets a line when one begins and when it ends."""

    def __init__(self, announce: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._announce = announce
        self._clock = clock
        self._origin = clock()
        self.finished: list[Phase] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done inside; a phase that raises is not counted as finished."""
        began = self._clock()
        self._announce(f"[bold]{name}[/bold] ...")
        yield
        seconds = self._clock() - began
        self.finished.append(Phase(name, began - self._origin, seconds))
        self._announce(f"  [green]done[/green] in {seconds:.1f} s")

    @property
    def total(self) -> float:
        """Seconds since the rehearsal began."""
        return self._clock() - self._origin


def timeline(phases: list[Phase], width: int) -> list[str]:
    """Draw one bar per phase on a common axis of `width` characters."""
    end = max((phase.start + phase.seconds for phase in phases), default=0.0) or 1.0
    bars = []
    for phase in phases:
        left = min(round(phase.start / end * width), width - 1)
        length = max(1, min(round(phase.seconds / end * width), width - left))
        bars.append(" " * left + "█" * length)
    return bars
