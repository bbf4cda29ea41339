"""Kills parts of a training and holds the run against one that nobody disturbed: ``python -m bench.recovery``.

Each run goes through the job's entrypoint on a local Ray of a head and two hosts, and loses one thing at a random step.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.recovery_run import (
    CHECKPOINT_EVERY,
    STEPS,
    Job,
    Training,
    kill_driver,
    kill_host,
    kill_while_saving,
    kill_worker,
    start_ray,
)
from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses, interruptible
from rehearsal.ray_processes import LocalRay
from rehearsal.runner import run_folder

# Of a step: loss and gradient norm.
Figures = tuple[float, float]
# The last: its loss takes the cluster with it.
HEAD = "head"
VICTIMS = ("worker", "host", "driver", "worker while saving", HEAD)
# After the first two checkpoints, and with steps left to catch the next save in.
KILL_BETWEEN = (2 * CHECKPOINT_EVERY + 1, STEPS - 2 * CHECKPOINT_EVERY)


@dataclass(frozen=True)
class Loss:
    """What one kill cost.

    `seconds` run from the kill to the end of the first step that was trained afterwards, `start_seconds` from the run's
    submission to its first step: most of both is the start of processes, on the same machine at about the same time.
    """

    victim: str
    at_step: int
    whole_before: int
    resumed_from: int
    seconds: float
    start_seconds: float
    broken: tuple[str, ...]

    @property
    def repeated(self) -> int:
        """Steps that were done before the kill, and had to be done again."""
        return self.at_step - self.resumed_from

    @property
    def verdict(self) -> str:
        """Which promises were broken."""
        return "; ".join(self.broken) or "as undisturbed"

    def __str__(self) -> str:
        """Say it on one line."""
        return f"{self.victim} killed after step {self.at_step}, next step after {self.seconds:.1f} s, {self.verdict}"


class Bench:
    """One local Ray after the other, and the runs on it."""

    def __init__(self, processes: OwnProcesses, folder: Path, seed: int) -> None:
        self._processes = processes
        self._folder = folder
        self._training = Training.prepare(folder)
        self._chance = random.Random(seed)  # noqa: S311 - when to kill is no secret
        self._rays = 0
        self._ray = self._new_ray()
        undisturbed = self._submit("undisturbed")
        undisturbed.end()
        self._expected = losses(undisturbed)

    def lose(self, number: int, victim: str) -> Loss:
        """Run once, and kill `victim` at a random step."""
        submitted = time.time()
        job = self._submit(f"run-{number}")
        job.wait_for_step(self._chance.randint(*KILL_BETWEEN))
        whole = job.whole()
        if victim == "worker while saving":
            kill_while_saving(job, self._ray, self._chance)
        else:
            self._kills()[victim]()
        killed, at_step = time.time(), max(job.rows())
        broken: list[str] = []
        last = self._resume_elsewhere(job, broken) if victim == HEAD else job
        last.end()

        resumed_from = last.result()["resumed_from_step"]
        got = {step: loss for step, loss in losses(job).items() if step <= resumed_from} | losses(last)
        broken += differences(self._expected, got)
        if resumed_from < whole:
            broken.append(f"step {whole} was saved, and the run went on from {resumed_from}")
        if left := last.half_written():
            broken.append(f"half-written checkpoints are left: {', '.join(left)}")
        seconds = last.rows()[resumed_from + 1]["time"] - killed
        start_seconds = job.rows()[1]["time"] - submitted
        return Loss(victim, at_step, whole, resumed_from, seconds, start_seconds, tuple(broken))

    def _kills(self) -> dict[str, Callable[[], None]]:
        return {
            "worker": lambda: kill_worker(self._ray, self._chance),
            "host": lambda: kill_host(self._ray, self._chance),
            "driver": lambda: kill_driver(self._ray),
            HEAD: lambda: self._ray.kill("head"),
        }

    def _resume_elsewhere(self, job: Job, broken: list[str]) -> Job:
        """The cluster has lost its head: the job has to fail, the same one again be refused, and its run go on."""
        if job.end(expected=None) == 0:
            broken.append("the submitter says that the job has succeeded")
        for name in self._ray.workers:  # KubeRay restarts them: they belong to a head that is no more
            self._ray.kill(name)
        self._ray = self._new_ray()
        again = self._submit(job.name)
        if again.end(expected=None) == 0 or f"add --resume {job.name}" not in again.output():
            broken.append("the same job again is not refused with what to do")
        return self._submit(f"{job.name}-resumed", resume=job.name)

    def _submit(self, name: str, resume: str | None = None) -> Job:
        return self._training.submit(self._processes, self._ray, name, resume)

    def _new_ray(self) -> LocalRay:
        self._rays += 1
        return start_ray(self._processes, self._folder / str(self._rays))


def differences(expected: Mapping[int, Figures], got: Mapping[int, Figures]) -> list[str]:
    """Say where two runs part, in a list of at most one: to the last bit, and no step more or less."""
    steps = sorted(expected.keys() | got.keys())
    first = next((step for step in steps if expected.get(step) != got.get(step)), None)
    return [] if first is None else [f"step {first}: {got.get(first)} instead of {expected.get(first)}"]


def losses(job: Job) -> dict[int, Figures]:
    """Return each step's loss and gradient norm, as they stand in the end."""
    return {step: (row["loss"], row["grad_norm"]) for step, row in job.rows().items()}


def render(found: Sequence[Loss]) -> Table:
    """One row per run, and each victim's medians below."""
    table = Table(title=f"{STEPS} steps, a checkpoint every {CHECKPOINT_EVERY}")
    table.add_column("killed")
    for column in ("after step", "went on from", "steps again", "seconds to next step", "/ first start"):
        table.add_column(column, justify="right")
    table.add_column("losses and all else", min_width=len("as undisturbed"))
    for loss in found:
        figures = [str(figure) for figure in (loss.at_step, loss.resumed_from, loss.repeated)]
        figures += [f"{loss.seconds:.1f}", f"{loss.seconds / loss.start_seconds:.2f}"]
        table.add_row(loss.victim, *figures, loss.verdict)
    table.add_section()
    for victim in dict.fromkeys(loss.victim for loss in found):
        of_it = [loss for loss in found if loss.victim == victim]
        seconds = median(loss.seconds for loss in of_it)
        ratio = median(loss.seconds / loss.start_seconds for loss in of_it)
        table.add_row(victim, "", "", "", f"{seconds:.1f}", f"{ratio:.2f}", "median")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Do the runs and print the table; the exit code is 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m bench.recovery", description="kill parts of a training")
    parser.add_argument("--runs", type=int, default=10, help="how many, over the victims in turn (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the steps and processes (default: 0)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs = {options.runs}\n    expected: 1 or more\n    to do:    raise it")
    console = Console()
    found: list[Loss] = []
    try:
        with interruptible(), run_folder() as folder, OwnProcesses() as processes:
            bench = Bench(processes, folder, options.seed)
            for number in range(options.runs):
                found.append(bench.lose(number, VICTIMS[number % len(VICTIMS)]))
                console.print(f"{number + 1} of {options.runs}: {found[-1]}", highlight=False, soft_wrap=True)
    except RehearsalError as error:
        if found:
            console.print(render(found))
        sys.exit(f"\n{error}\n")
    console.print(render(found))
    sys.exit(any(loss.broken for loss in found))


if __name__ == "__main__":
    main()
