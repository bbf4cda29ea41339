"""What a run left behind, and whether it shows what a rehearsal is to show."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.errors import RehearsalError
from rehearsal.shape import Shape

# Of the first loss. The stand-in model's falls by about 40 % in 50 steps; 10 % is far from what one batch differs from
# another by.
MINIMUM_LOSS_FALL = 0.10
NEEDED = ("first_loss", "last_loss", "world_size", "mesh", "parameters", "tokens_per_second", "transport")


@dataclass(frozen=True)
class Results:
    """result.json, and metrics.jsonl with one entry per step."""

    result: dict[str, Any]
    metrics: list[dict[str, Any]]

    @property
    def losses(self) -> list[float]:
        """The loss of each step."""
        return [float(row["loss"]) for row in self.metrics]


def check_saved(folder: Path) -> None:
    """Raise RehearsalError unless the run in `folder` left a whole checkpoint and a model that transformers loads."""
    if not list(folder.glob("checkpoints/*/complete.json")):
        raise RehearsalError(
            f"checkpoints in {folder}", "none that is whole", "the newest two", "Look at training/checkpoint.py."
        )
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        AutoModelForCausalLM.from_pretrained(folder / "model")
    except (OSError, ValueError) as error:
        raise RehearsalError(
            str(folder / "model"), error, "a model that from_pretrained loads", "Look at training/export.py."
        ) from error


def read_results(folder: Path) -> Results:
    """Read the results in `folder`. Raises RehearsalError when they are missing or incomplete."""
    try:
        result = json.loads((folder / "result.json").read_text())
        metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        results = Results(result, metrics)
        [result[key] for key in NEEDED]
        results.losses[0]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RehearsalError(
            f"results in {folder}",
            repr(error),
            "result.json and metrics.jsonl of a run that succeeded",
            "The job SUCCEEDED without them: look at training/results.py.",
        ) from error
    return results


def check_results(results: Results, shape: Shape, shard_size: int | None) -> None:
    """Raise RehearsalError unless all processes of `shape` took part, sharded as they were told, and learned something.

    `shard_size` None is over all.
    """
    found = results.result["world_size"]
    if found != shape.world_size:
        raise RehearsalError(
            "world size in result.json",
            found,
            f"{shape.world_size}, that of the RayCluster as started here",
            "The job left processes out: look at how training/train.py chooses its workers.",
        )
    copies, size = shape.world_size // (shard_size or shape.world_size), shard_size or shape.world_size
    mesh = f"hsdp {copies} x {size}" if copies > 1 else f"full over {size}"
    if results.result["mesh"] != mesh:
        raise RehearsalError(
            "mesh in result.json",
            results.result["mesh"],
            f"{mesh}, as on nodes of {shape.slots} GPUs",
            "Look at training/mesh.py, and at training.sharding of the environment.",
        )
    first, last = results.result["first_loss"], results.result["last_loss"]
    # Written so that a NaN fails.
    if not last <= first * (1 - MINIMUM_LOSS_FALL):
        raise RehearsalError(
            "last loss",
            f"{last:.4f}, and the first was {first:.4f}",
            f"at most {first * (1 - MINIMUM_LOSS_FALL):.4f}: {MINIMUM_LOSS_FALL:.0%} below the first",
            "Training does not learn: look at the last change to training/; with data of your own, try more --steps.",
        )
