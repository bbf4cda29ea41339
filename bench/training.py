"""Measures our training against the AWS sample's recipe: ``python -m bench.training``.

The same small Qwen2, data and ranks, in turns, on this machine's CPUs.
"""

import argparse
import dataclasses
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from transformers.utils.logging import disable_progress_bar

from bench import training_alone, training_report
from bench.errors import BenchError, ending
from bench.link import CONFIG, WRAP_AT
from bench.training_report import Figures, Losses
from bench.training_task import OURS, OURS_FLOAT32, RECIPE, STEPS, Shape, Task, save_model
from training.plan_model import read_model

ROOT = Path(__file__).resolve().parent.parent
SMALL = Shape(CONFIG, WRAP_AT)
# Large beside what a process grows by anyway, and small beside any machine's memory.
LARGE = Shape(
    CONFIG
    | {
        "vocab_size": 16384,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
    },
    1_500_000,
)
TINY = Shape(CONFIG | {"vocab_size": 512, "num_hidden_layers": 1}, WRAP_AT)
ROUND_STEPS = 3
MEMORY_COMMAND = [sys.executable, "-m", "bench.training_memory"]
# How often Ray Train's controller looks for reports. Its own default, which the sample has too.
POLL_VARIABLE = "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"


def compare(small: Shape, large: Shape, ranks: int, rounds: int, tell: Callable[[str], None]) -> Figures:
    """Measure all: memory in processes of their own, the single process here, the rest on Ray. Raises BenchError.

    `tell` is told what begins.
    """
    with tempfile.TemporaryDirectory() as folder:
        task, big, tiny = (
            make_task(shape, Path(folder, name), ranks, rounds)
            for name, shape in (("small", small), ("large", large), ("tiny", TINY))
        )
        tell("1 of 3: memory at initialisation, each way in processes of its own")
        memory = measure_memory(tiny, big)
        tell(f"2 of 3: the single process, {STEPS} steps with each optimizer")
        alone = {update: training_alone.losses(task, update) for update in (OURS, RECIPE)}
        reports = rounds * (ROUND_STEPS + 1)
        tell(
            f"3 of 3: {ranks} ranks on Ray, {STEPS} steps of each way, then {rounds} rounds; the recipe's {reports} "
            f"reports alone take {2 * reports} s"
        )
        found = on_ray(task)
    losses = {
        name: Losses(**one, alone=alone[OURS if name in (OURS, OURS_FLOAT32) else RECIPE])
        for name, one in found["losses"].items()
    }
    parameters = read_model(large.config | {"model_type": "qwen2"}).parameters
    return Figures(losses, found["steps_per_second"], memory, parameters)


def make_task(shape: Shape, folder: Path, ranks: int, rounds: int) -> Task:
    """Save the model of `shape` below `folder`, and return what the ranks are told."""
    task = Task(str(folder), shape.wrap_at, ranks, rounds, ROUND_STEPS)
    save_model(shape, task.model)
    return task


def measure_memory(tiny: Task, task: Task) -> dict[str, list[int]]:
    """Return what each rank grew by, in bytes, by variant. Raises BenchError."""
    file = Path(task.folder, "tasks.json")
    file.write_text(json.dumps([dataclasses.asdict(tiny), dataclasses.asdict(task)]))
    done = subprocess.run(  # noqa: S603 - no shell, and the command is ours
        [*MEMORY_COMMAND, file],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(
            "memory at initialisation",
            ending(done.returncode, done.stderr),
            "exit code 0, and a figure of every rank",
            "mend what it printed; if a rank was killed, free memory or give fewer --ranks",
        )
    found: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    return found


def on_ray(task: Task) -> dict[str, Any]:
    """Return what `bench.training_ranks` measures in the workers of a Ray Train run. Raises BenchError."""
    # Read when ray.train is imported, and by the controller, which inherits it.
    os.environ.pop(POLL_VARIABLE, None)
    import ray
    from ray.train import RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.torch import TorchConfig, TorchTrainer

    from bench.training_ranks import train_func

    variables = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    ray.init(
        address="local",
        num_cpus=task.ranks,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        runtime_env={"env_vars": variables},
    )
    # Type checkers see the classes of Ray Train V1; V2 is what runs, and has what is ignored below.
    trainer = TorchTrainer(
        train_func,  # type: ignore[arg-type]
        train_loop_config=dataclasses.asdict(task),
        scaling_config=ScalingConfig(num_workers=task.ranks),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(name="bench", storage_path=str(Path(task.folder, "ray"))),
    )
    try:
        found: dict[str, Any] = trainer.fit().return_value  # type: ignore[attr-defined]
    except TrainingFailedError as error:
        raise BenchError(
            "training on Ray",
            f"failed:\n{str(error)[-3000:]}",
            f"{task.ranks} ranks that take all their steps",
            "mend what it printed; if a rank was killed, free memory or give fewer --ranks",
        ) from error
    finally:
        ray.shutdown()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and prints tables or JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description="our training against the sample's")
    parser.add_argument("--ranks", type=int, default=2, help="gloo processes of each (default: 2)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is timed (default: 5)")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    options = parser.parse_args(arguments)
    for name, least in (("ranks", 2), ("rounds", 1)):
        value = getattr(options, name)
        if value < least:
            parser.error(f"--{name} = {value}\n    expected: {least} or more\n    to do:    leave it out")
    disable_progress_bar()
    progress = Console(stderr=True)
    try:
        figures = compare(SMALL, LARGE, options.ranks, options.rounds, progress.print)
    except BenchError as error:
        sys.exit(f"\n{error}\n")
    if options.json:
        print(json.dumps(figures.as_json(), indent=2))
    else:
        Console().print(training_report.render(figures))


if __name__ == "__main__":
    main()
