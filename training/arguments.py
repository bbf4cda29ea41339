"""What a run is told: one field per command line flag, validated when it is made."""

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

from training.errors import InputError
from training.transport_verdict import REQUIREMENTS, Required

SYNTHETIC = "synthetic"
STDLIB = "stdlib"
# How a data set of the hub is named, as in huggingface_hub's own file system.
HUB_DATA = "hf://datasets/"


def flag(
    help: str, default: Any = dataclasses.MISSING, *, choices: Sequence[str] = (), least: int | None = None
) -> Any:
    """Return a field with its help, and what its value is checked against."""
    return dataclasses.field(default=default, metadata={"help": help, "choices": tuple(choices), "least": least})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments:
    """One training run. Raises InputError for a value that no machine could run with, or that would be ignored."""

    run_name: str = flag("names the run's results folder; a new name for each run")
    model: str = flag("hub id org/name, folder saved by transformers, or config .json (random weights)")
    data: str = flag(
        "'synthetic', 'stdlib', hf://datasets/org/name[/folder], or a file or folder, local or s3://, of .txt, .md, "
        ".py, .jsonl or .parquet"
    )
    results: str = flag("local folder or s3://bucket/prefix; files go to <results>/<run-name>/")

    revision: str | None = flag("commit of the hub model; only with a hub id", None)
    data_revision: str | None = flag("commit of the hub's data set; only with hf://", None)
    text_field: str | None = flag("column of .jsonl and .parquet that holds the text (default text)", None)
    steps: int = flag("optimizer steps", 100, least=1)
    sequence_length: int = flag("tokens per sequence", 1024, least=1)
    micro_batch: int = flag("sequences per worker per forward and backward", 1, least=1)
    accumulation: int = flag("micro-batches per optimizer step", 1, least=1)
    learning_rate: float = flag("AdamW learning rate after the warm-up", 2e-5)
    warmup_steps: int = flag("steps in which the learning rate rises to its full value", 10, least=0)
    schedule: str = flag(
        "after the warm-up: constant, or cosine down to a tenth", "constant", choices=("constant", "cosine")
    )
    seed: int = flag("seeds random weights, synthetic data and the order of samples", 0)
    evaluate_every: int = flag("steps between two evaluations; 0 for none", 0, least=0)
    evaluation_sequences: int = flag("sequences held out for evaluation, from the end of the data", 0, least=0)

    mesh: str = flag(
        "full (shard over all workers), hsdp (shard inside a node, replicate across), or auto: hsdp on several nodes",
        "auto",
        choices=("auto", "hsdp", "full"),
    )
    shard_size: int | None = flag("workers that hold one copy of the model; default those of one node", None, least=1)
    compute_dtype: str = flag(
        "dtype of forward and backward; weights stay float32", "bfloat16", choices=("bfloat16", "float32")
    )
    reduce_dtype: str = flag("dtype of the gradients' reduction", "float32", choices=("bfloat16", "float32"))
    reshard_after_forward: bool = flag("off keeps gathered weights for the backward: faster, more memory", True)
    activation_checkpointing: str = flag(
        "what the backward computes again: full (each layer), selective (all but attention and every second matrix "
        "product), off",
        "off",
        choices=("full", "selective", "off"),
    )
    compile: bool = flag("on compiles each decoder layer with torch.compile", False)
    loss_chunk: int = flag("tokens whose logits, in float32, exist at a time", 1024, least=1)

    checkpoint_every: int = flag("steps between two checkpoints; 0 for none", 0, least=0)
    keep_checkpoints: int | None = flag("checkpoints that are kept (default 2)", None, least=1)
    resume: str | None = flag("name of the run, below --results, from whose newest checkpoint this one goes on", None)
    save_model: bool = flag("off leaves out the model folder at the end", True)
    max_failures: int = flag("lost workers or hosts after which the run is given up", 3, least=0)

    peak_flops: float | None = flag("nominal FLOP/s of one worker's device in --compute-dtype, for MFU", None)
    usd_per_hour: float | None = flag("what all workers cost per hour, for the cost per million tokens", None)
    profile_steps: int = flag("steps to profile on rank 0, after the first five; 0 for none", 0, least=0)

    require_transport: Required = flag(  # noqa: RUF009 - a field, as the others
        "what must be proven to carry the bytes between nodes, before the first step: efa, socket (TCP), or none",
        "none",
        choices=REQUIREMENTS,
    )
    workers: int | None = flag("training processes; default one per GPU, required without GPUs", None, least=1)
    wait_seconds: int = flag("seconds to wait for a Ray cluster that is still too small for --workers", 0, least=0)
    deadline_seconds: int | None = flag(
        "seconds after which the run ends itself as failed; default none", None, least=1
    )
    launch: str | None = flag("set by the supervisor: whose restarts may go on in this run's folder", None)

    def __post_init__(self) -> None:
        """Check the values that can be checked without looking at the machine."""
        from training.argument_checks import check  # here, for it needs this class

        check(self)

    @property
    def kept_checkpoints(self) -> int:
        """How many checkpoints stay."""
        return self.keep_checkpoints or 2

    def global_batch(self, world_size: int) -> int:
        """Return the sequences of one optimizer step, over all workers."""
        return self.micro_batch * self.accumulation * world_size


def parse(argv: Sequence[str] | None = None, description: str | None = None) -> Arguments:
    """Read flags; one given twice counts the second time. Raises InputError; argparse exits 2 on an unknown flag."""
    parser = argparse.ArgumentParser(prog="python -m training.train", description=description, allow_abbrev=False)
    for field in dataclasses.fields(Arguments):
        required = field.default is dataclasses.MISSING
        note = "" if required or field.default is None else f" (default {_shown(field.default)})"
        parser.add_argument(
            f"--{flag_name(field.name)}",
            required=required,
            default=None if required else field.default,
            metavar=field.name.rpartition("_")[2].upper(),
            help=field.metadata["help"].replace("%", "%%") + note,
        )
    given = vars(parser.parse_args(argv))
    fields = {field.name: field.type for field in dataclasses.fields(Arguments)}
    return Arguments(**{name: _convert(name, value, fields[name]) for name, value in given.items()})


def _convert(name: str, value: Any, wanted: Any) -> Any:
    """Turn a flag's text into its field's type."""
    if not isinstance(value, str):
        return value
    kind = next((t for t in (get_args(wanted) or (wanted,)) if t in (int, float, bool)), str)
    if kind is bool:
        if value not in ("on", "off"):
            raise InputError(flag_name(name), repr(value), "on or off", "Write one of the two.")
        return value == "on"
    try:
        return kind(value)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise InputError(flag_name(name), repr(value), expected, "Write it in digits.") from None


def flag_name(field: str) -> str:
    """Return a field's flag, without the dashes."""
    return field.replace("_", "-")


def _shown(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
