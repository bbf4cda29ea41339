"""One worker of the benchmark of training: trains ours and the recipe in turns, in one process group."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import ray.train
import torch
import torch.distributed as dist

from bench.training_recipe import DEVICE, Recipe
from bench.training_task import (
    LEARNING_RATE,
    MICRO_BATCH,
    OURS,
    OURS_FLOAT32,
    QUIET,
    RECIPE,
    RECIPE_FLOAT32,
    STEPS,
    Task,
    samples,
)
from training.loop import train_step
from training.metrics import StepMetrics
from training.model import read_config
from training.ranks import Ranks
from training.setup import Data, build_run
from training.sharding import count_parameters

Report = Callable[[dict[str, Any]], None]


class Ours:
    """Our training as training/loop.py does it, from setup to metrics."""

    def __init__(self, task: Task, ranks: Ranks, name: str, compute_dtype: str) -> None:
        args = task.arguments(name, compute_dtype)
        self._run = build_run(args, DEVICE, ranks, read_config(args), Data(samples(), None))
        self._metrics = StepMetrics(args, DEVICE, self._run.folder, 0)
        self._done = 0
        self.parameters = count_parameters(self._run.root)

    def step(self) -> None:
        """Do the next step."""
        self._done += 1
        train_step(self._run, self._done, self._metrics)

    def losses(self) -> list[float]:
        """The loss of each step over the global batch."""
        return list(self._metrics.losses)  # it grows with the steps that are timed


class Theirs:
    """The recipe on the same samples. `report` is what it calls after each step."""

    def __init__(self, task: Task, ranks: Ranks, dtype: torch.dtype) -> None:
        self._recipe = Recipe(task.model, task.wrap_at, LEARNING_RATE, dtype)
        self._ranks = ranks
        self._samples = samples()
        self._mine: list[float] = []
        self.parameters = self._recipe.parameters(ranks.world_size)

    def step(self, report: Report | None = None) -> None:
        """Do the next step, and report its loss."""
        first = (len(self._mine) * self._ranks.world_size + self._ranks.rank) * MICRO_BATCH
        self._mine.append(self._recipe.step(*self._samples.batch(first, MICRO_BATCH)))
        if report is not None:
            report({"step": len(self._mine), "loss": self._mine[-1]})

    def losses(self) -> list[float]:
        """The mean of the ranks' losses: their batches are of one size."""
        return torch.tensor(self._ranks.gather(self._mine), dtype=torch.float64).mean(0).tolist()


def train_func(config: dict[str, Any]) -> dict[str, Any]:
    """Measure, as a Ray Train worker; `config` holds the fields of Task."""
    torch.set_num_threads(1)
    return measure(Task(**config), ray.train.report)


def measure(task: Task, report: Report) -> dict[str, Any]:
    """Return the losses and parameters of four variants, and the steps per second of three, as rank 0 saw them."""
    ranks = Ranks()
    losses: dict[str, dict[str, Any]] = {}
    kept: dict[str, Ours | Theirs] = {}
    makers: dict[str, Callable[[], Ours | Theirs]] = {
        OURS_FLOAT32: lambda: Ours(task, ranks, "float32", "float32"),
        OURS: lambda: Ours(task, ranks, "bfloat16", "bfloat16"),
        RECIPE_FLOAT32: lambda: Theirs(task, ranks, torch.float32),
        RECIPE: lambda: Theirs(task, ranks, torch.bfloat16),
    }
    for name, make in makers.items():
        variant = make()
        for _ in range(STEPS):
            variant.step()
        losses[name] = {"losses": variant.losses(), "parameters": variant.parameters}
        if name in (OURS, RECIPE):
            kept[name] = variant
    ours, theirs = kept[OURS], kept[RECIPE]
    assert isinstance(theirs, Theirs)
    ways = {OURS: ours.step, QUIET: theirs.step, RECIPE: lambda: theirs.step(report)}
    return {"losses": losses, "steps_per_second": take_turns(ways, task.rounds, task.round_steps)}


def take_turns(ways: Mapping[str, Callable[[], None]], rounds: int, steps: int) -> dict[str, list[float]]:
    """Return the steps per second of each way in each round; who begins a round changes from one to the next."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            # Not timed. Ray keeps one report until its controller asks for it: the first of a row never waits.
            ways[name]()
            dist.barrier()
            began = time.perf_counter()
            for _ in range(steps):
                ways[name]()
            dist.barrier()
            found[name].append(steps / (time.perf_counter() - began))
    return found
