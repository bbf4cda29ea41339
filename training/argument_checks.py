"""What is wrong with a run's arguments, as far as they alone tell."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

from training.arguments import HUB_DATA, STDLIB, SYNTHETIC, Arguments, flag_name
from training.errors import InputError
from training.shards import check_shards

# A run's name is a folder name, locally and in S3.
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# numpy and torch both take seeds of 32 bits.
LARGEST_SEED = 2**32 - 1
# The steps before it warm up: their times are not those of the others.
STEPS_BEFORE_PROFILE = 5


def check(args: Arguments) -> None:
    """Raise InputError for the first value that no machine could run with, or that would be ignored."""
    _names(args)
    _numbers(args)
    _ignored(args)
    if args.workers is not None:
        check_shards(args, args.workers, nodes=args.workers)  # they are on no more than that


def _names(args: Arguments) -> None:
    expected = "letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 128"
    if not RUN_NAME.fullmatch(args.run_name):
        remedy = "Choose such a name: it becomes a folder below --results."
        raise InputError("run-name", repr(args.run_name), expected, remedy)
    if args.resume is not None and not RUN_NAME.fullmatch(args.resume):
        raise InputError("resume", repr(args.resume), expected, "Give the name of a run below --results.")
    if args.resume == args.run_name:
        raise InputError("resume", args.resume, "another run's name", "Give this run a new --run-name.")
    for name in ("model", "data", "results"):
        if not getattr(args, name):
            raise InputError(name, "''", "a value", "See --help for what it may be.")
    if "://" in args.data and not args.data.startswith(("s3://", HUB_DATA)):
        raise InputError("data", args.data, f"a local path, s3:// or {HUB_DATA}", "Copy the data to one of these.")
    if "://" in args.results and not re.match(r"s3://[^/]+", args.results):
        raise InputError(
            "results", args.results, "a local folder or s3://bucket/prefix", "Give one of these two forms."
        )


def _numbers(args: Arguments) -> None:
    for field in dataclasses.fields(Arguments):
        value, least, choices = getattr(args, field.name), field.metadata["least"], field.metadata["choices"]
        if least is not None and value is not None and value < least:
            raise InputError(flag_name(field.name), value, f"a whole number of at least {least}", "Raise it.")
        if choices and value not in choices:
            raise InputError(flag_name(field.name), value, " or ".join(choices), "Write one of these.")
    for name in ("learning_rate", "peak_flops", "usd_per_hour"):
        value = getattr(args, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            remedy = "2e-5 is usual for fine-tuning." if name == "learning_rate" else "Correct it, or leave it out."
            raise InputError(flag_name(name), value, "a finite number above 0", remedy)
    if not 0 <= args.seed <= LARGEST_SEED:
        raise InputError("seed", args.seed, f"a whole number from 0 to {LARGEST_SEED}", "Choose one in that range.")


def _ignored(args: Arguments) -> None:
    """Refuse what would have no effect."""
    rules: list[tuple[str, Callable[[Any], bool], bool, str, str]] = [
        # field, whether it was given, whether it has an effect, what is expected, what to do
        ("data_revision", bool, args.data.startswith(HUB_DATA), "none for data that are not hf://", "Drop it."),
        (
            "text_field",
            bool,
            args.data not in (SYNTHETIC, STDLIB),
            "none for synthetic data or the standard library's sources",
            "Drop it.",
        ),
        ("shard_size", bool, args.mesh != "full", "none with --mesh full, which shards over all", "Drop one of them."),
        ("keep_checkpoints", bool, args.checkpoint_every > 0, "none without checkpoints", "Set --checkpoint-every."),
        (
            "checkpoint_every",
            bool,
            args.checkpoint_every <= args.steps,
            f"at most the {args.steps} --steps, for it would never be reached",
            "Lower it, or give 0 for no checkpoints.",
        ),
        (
            "evaluate_every",
            bool,
            args.evaluation_sequences > 0 and args.evaluate_every <= args.steps,
            f"with --evaluation-sequences, and at most the {args.steps} --steps",
            "Set both, or neither.",
        ),
        ("evaluation_sequences", bool, args.evaluate_every > 0, "with --evaluate-every", "Set both, or neither."),
        (
            "warmup_steps",
            bool,
            args.schedule == "constant" or args.warmup_steps < args.steps,
            f"fewer than the {args.steps} --steps, or there is no cosine after it",
            "Lower it, or choose --schedule constant.",
        ),
        (
            "profile_steps",
            bool,
            args.profile_steps + STEPS_BEFORE_PROFILE <= args.steps,
            f"at most {max(0, args.steps - STEPS_BEFORE_PROFILE)}: the first {STEPS_BEFORE_PROFILE} warm up",
            "Lower it, or raise --steps.",
        ),
    ]
    for name, given, effective, expected, remedy in rules:
        value = getattr(args, name)
        if given(value) and not effective:
            raise InputError(flag_name(name), value, expected, remedy)
