"""What the benchmark of training has found, as tables and as JSON."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table

from bench.training_task import OURS, OURS_FLOAT32, QUIET, RECIPE, RECIPE_FLOAT32

TOLERANCE = 1e-3
MIB = 2**20
MEANING = (
    "Loss: each variant against one float32 process that has the same data, start and optimizer settings: ours warms "
    'up and clips, the recipe does not. "recipe, float32" leaves of its faults the untied embedding alone.\n'
    "Speed: medians of rounds in turns, in the workers of one Ray Train run. Ray takes one report per look of its "
    "controller, every two seconds, so the recipe makes half a step per second at most, whatever the hardware: its "
    "report costs a model this small a larger share than one whose step takes longer. Ours never reports.\n"
    "Memory: what a new process grew by, at its peak, until the model was loaded and sharded; no optimizer state, no "
    "step. Ours has the whole model, in float32, on rank 0 alone.\n"
    "Not shown: anything about GPUs, NCCL or EFA. This is gloo on shared CPU cores, and the cost of a bfloat16 "
    "product differs between CPUs; in training, our float32 weights and moments take more memory than the recipe's "
    "bfloat16."
)


@dataclasses.dataclass(frozen=True)
class Losses:
    """A variant's loss at each step, and that of the single process. `parameters` are those it trains."""

    parameters: int
    losses: Sequence[float]
    alone: Sequence[float]

    @property
    def apart_at(self) -> int | None:
        """The first step, from 1, at which they differ by more than TOLERANCE."""
        steps = enumerate(self._differences(), start=1)
        return next((step for step, difference in steps if difference > TOLERANCE), None)

    @property
    def largest(self) -> float:
        """The most by which they differ."""
        return max(self._differences())

    def _differences(self) -> list[float]:
        return [abs(here - there) for here, there in zip(self.losses, self.alone, strict=True)]


@dataclasses.dataclass(frozen=True)
class Figures:
    """All that was measured; `speeds` in steps per second of each round, `memory` in bytes by rank."""

    losses: Mapping[str, Losses]
    speeds: Mapping[str, Sequence[float]]
    memory: Mapping[str, Sequence[int]]
    memory_parameters: int

    def ratio(self, of: str, to: str) -> float:
        """Median steps per second of one variant over that of another."""
        return statistics.median(self.speeds[of]) / statistics.median(self.speeds[to])

    def as_json(self) -> dict[str, Any]:
        """Everything, and what the tables derive from it."""
        derived = {
            "apart_at": {name: found.apart_at for name, found in self.losses.items()},
            "largest_difference": {name: found.largest for name, found in self.losses.items()},
            "steps_per_second_ratio": {
                "ours / recipe": self.ratio(OURS, RECIPE),
                "ours / recipe without report": self.ratio(OURS, QUIET),
            },
            "initialisation_ratio_by_rank": self.memory_ratios(),
        }
        return dataclasses.asdict(self) | derived | {"meaning": MEANING}

    def memory_ratios(self) -> list[float]:
        """Ours over the recipe's, by rank."""
        return [ours / theirs for ours, theirs in zip(self.memory[OURS], self.memory[RECIPE], strict=True)]


def render(figures: Figures) -> Group:
    """The three tables, and what they show and what not."""
    return Group(_losses(figures), _speeds(figures), _memory(figures), MEANING)


def _losses(figures: Figures) -> Table:
    steps = len(figures.losses[OURS].losses)
    table = _table(
        f"Loss against one float32 process, {steps} steps",
        ("variant", "parameters", "first loss", "last loss", "alone", f"apart by > {TOLERANCE:g}", "at most"),
    )
    for name in (OURS_FLOAT32, OURS, RECIPE_FLOAT32, RECIPE):
        found = figures.losses[name]
        table.add_row(
            name,
            f"{found.parameters / 1e6:.2f}M",
            f"{found.losses[0]:.4f}",
            f"{found.losses[-1]:.4f}",
            f"{found.alone[-1]:.4f}",
            "never" if found.apart_at is None else f"from step {found.apart_at}",
            f"{found.largest:.1e}",
        )
    return table


def _speeds(figures: Figures) -> Table:
    rounds = len(figures.speeds[OURS])
    table = _table(
        f"Steps per second, median of {rounds} round{'' if rounds == 1 else 's'}",
        ("variant", "steps/s", "slowest to fastest", "/ recipe", "/ recipe without report"),
    )
    for name in (OURS, QUIET, RECIPE):
        speeds = figures.speeds[name]
        table.add_row(
            name,
            f"{statistics.median(speeds):.2f}",
            f"{min(speeds):.2f} to {max(speeds):.2f}",
            f"{figures.ratio(name, RECIPE):.2f}",
            f"{figures.ratio(name, QUIET):.2f}",
        )
    return table


def _memory(figures: Figures) -> Table:
    table = _table(
        f"Peak at initialisation, {figures.memory_parameters / 1e6:.0f}M parameters",
        ("rank", "ours, MiB", "recipe, MiB", "ours / recipe"),
    )
    for rank, ratio in enumerate(figures.memory_ratios()):
        ours, theirs = figures.memory[OURS][rank], figures.memory[RECIPE][rank]
        table.add_row(str(rank), f"{ours / MIB:.0f}", f"{theirs / MIB:.0f}", f"{ratio:.2f}")
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table
