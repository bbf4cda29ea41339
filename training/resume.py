"""Whether a run may go on from a checkpoint: only from one of the same run."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from transformers import PretrainedConfig

from training.arguments import SYNTHETIC, Arguments
from training.checkpoint import CheckpointFolder
from training.errors import InputError
from training.results import RunFolder
from training.tokens import TokenFile

# Parts of a configuration that say where it is from.
NO_SHAPE = {"_name_or_path", "transformers_version"}
REMEDIES = {
    "global_batch": "Set --micro-batch and --accumulation so that, times the workers, they give the same number.",
    "tokens": "Give the data, and the tokenizer, of then; a changed file is other data.",
}


def fingerprint(
    args: Arguments, config: PretrainedConfig, tokens: TokenFile | None, world_size: int, parameters: int
) -> dict[str, Any]:
    """Return what defines a run: with the same values the losses are the same, whatever the workers and the mesh."""
    shape = {name: value for name, value in config.to_diff_dict().items() if name not in NO_SHAPE}
    found: dict[str, Any] = {
        "model": config.model_type,
        "architecture": hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16],
        "parameters": parameters,
        "revision": args.revision,
        "tokens": args.data if tokens is None else tokens.key,
        "evaluation_sequences": args.evaluation_sequences,
        "sequence_length": args.sequence_length,
        "global_batch": args.global_batch(world_size),
        "learning_rate": args.learning_rate,
        "warmup_steps": args.warmup_steps,
        "schedule": args.schedule,
        "seed": args.seed,
        "compute_dtype": args.compute_dtype,
    }
    # A constant rate over given data may go on for longer.
    if args.schedule != "constant" or args.data == SYNTHETIC:
        found["steps"] = args.steps
    return found


def check_can_resume(args: Arguments) -> None:
    """Raise InputError when --resume names a run without a whole checkpoint: known before a worker starts."""
    if args.resume is not None and CheckpointFolder(RunFolder(args.results, args.resume)).newest() is None:
        raise InputError(
            "resume",
            args.resume,
            f"a run below {args.results} with a whole checkpoint",
            "Check the name; a run that was lost before its first checkpoint has to begin again: drop --resume.",
        )


def check_same_run(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InputError when the checkpoint of run `name` was made by a run that differs from this one."""
    differing = [field for field in sorted(then.keys() | now.keys()) if then.get(field) != now.get(field)]
    if differing:
        what = "; ".join(f"{field} was {then.get(field)} and is {now.get(field)}" for field in differing)
        remedy = next((REMEDIES[field] for field in differing if field in REMEDIES), None)
        raise InputError(
            "resume",
            name,
            f"a run of the same settings: {what}",
            remedy or "Give the same settings, or start a new run from its model folder instead.",
        )
