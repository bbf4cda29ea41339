"""What a run is told: one field per command line flag, validated when it is made."""

import argparse
import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

from training.errors import InputError

# A run's name is a folder name, locally and in S3.
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# numpy and torch both take seeds of 32 bits.
LARGEST_SEED = 2**32 - 1
COMPUTE_DTYPES = ("bfloat16", "float32")


def _flag(help: str, default: Any = dataclasses.MISSING) -> Any:
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Arguments:
    """One training run. Raises InputError for a value that no machine could run with."""

    run_name: str = _flag("names the run's results folder; a new name for each run")
    model: str = _flag("hub id org/name, folder saved by transformers, or config .json (random weights)")
    data: str = _flag("'synthetic', 'stdlib', a UTF-8 text file, or a folder of *.txt, *.py, *.md")
    results: str = _flag("local folder or s3://bucket/prefix; files go to <results>/<run-name>/")
    revision: str | None = _flag("commit of the hub model; only with a hub id", None)
    steps: int = _flag("optimizer steps", 100)
    sequence_length: int = _flag("tokens per sequence", 1024)
    micro_batch: int = _flag("sequences per worker per step", 1)
    learning_rate: float = _flag("AdamW learning rate after the warm-up", 2e-5)
    seed: int = _flag("seeds random weights, synthetic data and the order of samples", 0)
    compute_dtype: str = _flag("dtype of forward and backward: bfloat16 or float32; weights stay float32", "bfloat16")
    workers: int | None = _flag("training processes; default one per GPU, required without GPUs", None)
    wait_seconds: int = _flag("seconds to wait for a Ray cluster that is still too small for --workers", 0)
    deadline_seconds: int | None = _flag("seconds after which the run ends itself as failed; default none", None)

    def __post_init__(self) -> None:
        """Check the values that can be checked without looking at the machine."""
        if not RUN_NAME.fullmatch(self.run_name):
            raise InputError(
                "run-name",
                repr(self.run_name),
                "letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 128",
                "Choose such a name: it becomes a folder below --results.",
            )
        for name in ("model", "data", "results"):
            if not getattr(self, name):
                raise InputError(name, "''", "a value", "See --help for what it may be.")
        if "://" in self.results and not re.match(r"s3://[^/]+", self.results):
            raise InputError(
                "results", self.results, "a local folder or s3://bucket/prefix", "Give one of these two forms."
            )
        for name in ("steps", "sequence_length", "micro_batch", "workers", "deadline_seconds"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(_flag_name(name), value, "a whole number of at least 1", "Raise it.")
        if self.wait_seconds < 0:
            raise InputError("wait-seconds", self.wait_seconds, "a whole number of at least 0", "Raise it.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InputError(
                "learning-rate", self.learning_rate, "a finite number above 0", "2e-5 is usual for fine-tuning."
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InputError("seed", self.seed, f"a whole number from 0 to {LARGEST_SEED}", "Choose one in that range.")
        if self.compute_dtype not in COMPUTE_DTYPES:
            raise InputError(
                "compute-dtype", self.compute_dtype, " or ".join(COMPUTE_DTYPES), "Use bfloat16 unless debugging."
            )


def parse(argv: Sequence[str] | None = None) -> Arguments:
    """Read flags; one given twice counts the second time. Raises InputError; argparse exits 2 on an unknown flag."""
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__, allow_abbrev=False)
    for field in dataclasses.fields(Arguments):
        required = field.default is dataclasses.MISSING
        note = "" if required or field.default is None else f" (default {field.default})"
        parser.add_argument(
            f"--{_flag_name(field.name)}",
            required=required,
            default=None if required else field.default,
            metavar=field.name.rpartition("_")[2].upper(),
            help=field.metadata["help"] + note,
        )
    given = vars(parser.parse_args(argv))
    fields = {field.name: field.type for field in dataclasses.fields(Arguments)}
    return Arguments(**{name: _convert(name, value, fields[name]) for name, value in given.items()})


def _convert(name: str, value: Any, wanted: Any) -> Any:
    """Turn a flag's text into its field's type."""
    kinds = {int: "a whole number", int | None: "a whole number", float: "a number"}
    if not isinstance(value, str) or wanted not in kinds:
        return value
    try:
        return float(value) if wanted is float else int(value)
    except ValueError:
        raise InputError(_flag_name(name), repr(value), kinds[wanted], "Write it in digits.") from None


def _flag_name(field: str) -> str:
    return field.replace("_", "-")
