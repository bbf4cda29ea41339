"""The RayJob as it is submitted here: its own entrypoint and runtime environment, with every change named."""

import argparse
import itertools
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.assembly import name_of
from rehearsal.errors import RehearsalError
from rehearsal.shape import Shape
from rehearsal.working_dir import runtime_env
from training.argument_checks import STEPS_BEFORE_PROFILE

# Added to the job's own environment, and why.
LOCAL_ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": ("lo", "gloo must meet on the loopback interface"),
    "OMP_NUM_THREADS": ("1", "one thread per training process: they share the cores"),
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": ("0.5", "Ray Train's 2 s polls are long beside a run this short"),
    "HF_HUB_OFFLINE": ("1", "nothing is downloaded"),
    "RAY_USAGE_STATS_ENABLED": ("0", "nothing is reported"),
}


# Flags that are taken out: training refuses what has no effect, and no value of theirs would be true here.
TAKEN_OUT = {
    "revision": "a local model has none",
    "data-revision": "local data have none",
    "text-field": "local data have their own",
    "resume": "the run to go on from is in S3",
    "peak-flops": "a CPU's peak is another",
    "usd-per-hour": "this machine costs nothing",
}


_SHARD_SIZE = "all processes share one address; Ray would count one node"


@dataclass(frozen=True)
class Change:
    """One difference from the RayJob: `was` is None when the RayJob does not say."""

    what: str
    was: str | None
    now: str
    why: str


@dataclass(frozen=True)
class Submission:
    """What goes to Ray's job API."""

    run_name: str
    entrypoint: str
    runtime_env: dict[str, Any]
    changes: list[Change]


@dataclass(frozen=True)
class Local:
    """What only this machine knows: the model, data, size and place of the run."""

    model: str
    data: str
    steps: int
    workers: int
    shard_size: int | None
    results: Path
    sequence_length: int = 128
    micro_batch: int = 1
    learning_rate: float = 2e-3

    def flags(self) -> dict[str, tuple[str, str]]:
        """Return each flag of `training.supervise` that a rehearsal sets, with its value and why."""
        shards = {} if self.shard_size is None else {"shard-size": (str(self.shard_size), _SHARD_SIZE)}
        return {
            "model": (self.model, "fits a laptop; the job's own model needs GPUs and a download"),
            "data": (self.data, "text that is here"),
            "steps": (str(self.steps), "enough for the loss to fall clearly"),
            "sequence-length": (str(self.sequence_length), "CPU time"),
            "micro-batch": (str(self.micro_batch), "CPU time"),
            "learning-rate": (f"{self.learning_rate:g}", "random weights learn at a higher rate than trained ones"),
            "compute-dtype": ("float32", "a CPU computes bfloat16 slowly"),
            "checkpoint-every": (str(max(1, self.steps // 2)), "two checkpoints in a run this short"),
            **shards,
            "require-transport": ("socket", "gloo over loopback is not EFA"),
            "workers": (str(self.workers), "one per CPU slot, where the cluster has one per GPU"),
            "results": (str(self.results), "no S3 here"),
        }


def submission(ray_job: dict[str, Any], working_dir: Path, local: Local, gcs_address: str) -> Submission:
    """Return the RayJob's submission with `local` applied, for the cluster at `gcs_address`. Raises RehearsalError."""
    own = ray_job["spec"]["entrypoint"]
    given = flags(own)
    run_name = given.get("run-name")
    if not run_name:
        raise RehearsalError(
            f"RayJob {name_of(ray_job)} spec.entrypoint",
            own,
            "python -m training.supervise --run-name NAME ...",
            "The run's results could not be found without its name: see k8s/ray_job.py.",
        )
    environment = runtime_env(ray_job)
    changes = [
        Change("working_dir", environment["working_dir"], str(working_dir), "the submitter's mount, written here")
    ]
    for name, why in TAKEN_OUT.items():
        if name in given:
            own = re.sub(rf"\s--{name}(\s+|=)\S+", "", own)
            changes.append(Change(f"--{name}", given[name], "", why))
    overrides = local.flags() | _shortened(given, local.steps)
    for name, (now, why) in overrides.items():
        changes.append(Change(f"--{name}", given.get(name), now, why))
    variables = {str(name): str(value) for name, value in environment.get("env_vars", {}).items()}
    own_cluster = {"RAY_ADDRESS": (gcs_address, "another Ray on this machine must not be taken for this one")}
    for name, (now, why) in (LOCAL_ENVIRONMENT | own_cluster).items():
        changes.append(Change(name, variables.get(name), now, why))
        variables[name] = now
    # argparse takes the last of two equal flags, so the job's own come first and stay in sight.
    words = shlex.join(word for name, (now, _) in overrides.items() for word in (f"--{name}", now))
    return Submission(
        run_name,
        f"{own} {words}",
        environment | {"working_dir": str(working_dir), "env_vars": variables},
        [change for change in changes if change.was != change.now],
    )


def _shortened(given: Mapping[str, str], steps: int) -> dict[str, tuple[str, str]]:
    """Return the flags that count steps, and are too large for a run of `steps`: training would refuse them."""
    most = {
        "warmup-steps": steps // 5,
        "evaluate-every": max(1, steps // 2),
        "profile-steps": max(0, steps - STEPS_BEFORE_PROFILE),
    }
    return {name: (str(limit), "the run is shorter") for name, limit in most.items() if int(given.get(name, 0)) > limit}


def flags(entrypoint: str) -> Mapping[str, str]:
    """Return the flags of a command line, `--name value` or `--name=value`; the last of two equal ones counts."""
    words = shlex.split(re.sub(r"(\s--[\w-]+)=", r"\1 ", entrypoint))
    return {name.removeprefix("--"): value for name, value in itertools.pairwise(words) if name.startswith("--")}


def shard_size(entrypoint: str, shape: Shape) -> int | None:
    """Return the --shard-size with which `shape`'s pods are to the job what nodes are on the cluster: see
    training/shards.py. None when the command line says to shard over all, where the flag would be refused.
    """
    mesh = flags(entrypoint).get("mesh", "auto")
    if mesh == "full":
        return None
    return shape.world_size if mesh == "auto" and shape.slots == 1 else shape.slots


def check_local_inputs(local: Local) -> None:
    """Raise RehearsalError when training could not read its model or data; takes seconds, for torch is imported."""
    from training.arguments import parse
    from training.checks import check_inputs
    from training.errors import InputError

    given = {"run-name": "check"} | {name: value for name, (value, _) in local.flags().items()}
    try:
        check_inputs(parse([word for name, value in given.items() for word in (f"--{name}", value)]))
    except InputError as error:
        raise RehearsalError(f"--{error.field}", error.value, error.expected, error.remedy) from error


def existing_path(value: str) -> str:
    """Return `value` as an absolute path if there is something, else unchanged (it may be a keyword). For argparse."""
    path = Path(value).expanduser()
    return str(path.absolute()) if path.exists() else value


def whole_number(value: str) -> int:
    """Return a whole number of at least 1. For argparse."""
    number = int(value) if value.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value!r}: expected a whole number of at least 1")
    return number
