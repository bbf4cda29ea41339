"""What the benchmark of data has found, as tables and as JSON."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from rich.console import Group
from rich.table import Table

from bench.data_sources import OURS
from bench.data_turn import MORE_READERS, READERS, Continued, Turn

MIB = 2**20
MEANING = (
    "Ray Data, text: tokenised at each start, then random_shuffle. Ray Data, parquet: packed sequences are written "
    "once, and read with random_shuffle; buffer: the same file, files shuffled and a local shuffle buffer.\n"
    "Same: each global batch after a restart at half of a pass holds the sequences that the run without it has there. "
    "Again: the share that the interrupted run had seen before; a few texts are in the data twice.\n"
    "Not shown: S3, several nodes, preparation dearer than this tokenizer's, or data larger than memory."
)


@dataclasses.dataclass(frozen=True)
class Figures:
    """The turns of each way, in order."""

    turns: Mapping[str, Sequence[Turn]]

    def median(self, way: str, of: Callable[[Turn], float]) -> float:
        """Return the median of a figure over a way's turns."""
        return median(of(turn) for turn in self.turns[way])

    def ratio(self, way: str, of: Callable[[Turn], float]) -> float:
        """Return a way's median, divided by the token file's."""
        return self.median(way, of) / self.median(OURS, of)

    def same(self, way: str, of: Callable[[Turn], Continued]) -> bool:
        """Return whether the batches were the same in every turn."""
        return all(of(turn).same for turn in self.turns[way])

    def as_json(self) -> dict[str, Any]:
        """Everything, and what the tables derive from it."""
        ratios = {
            way: {name: self.ratio(way, of) for name, of in (*TIMES.items(), *MEMORY.items())} for way in self.turns
        }
        same = {way: {name: self.same(way, of) for name, of in CONTINUED.items()} for way in self.turns}
        return dataclasses.asdict(self) | {"ratios": ratios, "same": same, "meaning": MEANING}


TIMES: dict[str, Callable[[Turn], float]] = {
    "first time": lambda turn: turn.first_seconds,
    "again": lambda turn: turn.again_seconds,
    "at half": lambda turn: turn.half_seconds,
    "whole pass": lambda turn: turn.pass_seconds,
    "sequences/s": lambda turn: turn.per_second,
}
MEMORY: dict[str, Callable[[Turn], float]] = {
    "a reader": lambda turn: turn.peak.reader,
    "Ray beside it": lambda turn: turn.peak.beside,
}
CONTINUED: dict[str, Callable[[Turn], Continued]] = {
    f"{READERS} to {READERS} readers": lambda turn: turn.same_readers,
    f"{MORE_READERS} to {READERS} readers": lambda turn: turn.fewer_readers,
}


def render(figures: Figures) -> Group:
    """The tables, and what they show and what not."""
    return Group(_waits(figures), _passes(figures), _continued(figures), _memory(figures), MEANING)


def _waits(figures: Figures) -> Table:
    rounds = len(figures.turns[OURS])
    names = ("first time", "again", "at half")
    count = f"median of {rounds} round{'' if rounds == 1 else 's'}"
    table = _table(f"Seconds to the first batch, {count}", [part for name in names for part in (name, "ratio")])
    for way in figures.turns:
        table.add_row(way, *_cells(figures, way, {name: TIMES[name] for name in names}, _seconds))
    return table


def _passes(figures: Figures) -> Table:
    sequences = figures.turns[OURS][0].sequences
    title = f"A pass over {sequences:,} sequences, and the rate after its start"
    table = _table(title, ("seconds", "ratio", "sequences/s", "ratio"))
    for way in figures.turns:
        seconds = _cells(figures, way, {"": TIMES["whole pass"]}, lambda value: f"{value:.2f}")
        speed = _cells(figures, way, {"": TIMES["sequences/s"]}, lambda value: f"{value:,.0f}")
        table.add_row(way, *seconds, *speed)
    return table


def _continued(figures: Figures) -> Table:
    table = _table("After a restart at half of a pass", [part for name in CONTINUED for part in (name, "again")])
    for way in figures.turns:
        cells = []
        for of in CONTINUED.values():
            again = max(of(turn).again for turn in figures.turns[way])
            cells += ["same" if figures.same(way, of) else "others", f"{again:.1%}"]
        table.add_row(way, *cells)
    return table


def _memory(figures: Figures) -> Table:
    table = _table("Peak MiB", [part for name in MEMORY for part in (name, "ratio")])
    for way in figures.turns:
        table.add_row(way, *_cells(figures, way, MEMORY, lambda value: f"{value / MIB:,.0f}"))
    return table


def _cells(
    figures: Figures, way: str, columns: Mapping[str, Callable[[Turn], float]], show: Callable[[float], str]
) -> list[str]:
    cells = []
    for of in columns.values():
        ratio = figures.ratio(way, of)
        cells += [show(figures.median(way, of)), f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2f}"]
    return cells


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("way", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
