"""Whether the model and its batch fit the GPUs, and the run its deadline.

What is refused is far from possible: all of a GPU's memory is counted on, and its peak. The arithmetic is that of
training/plan_memory.py and plan_model.py, which import no PyTorch, for the models whose shape is known here without a
download.
"""

import bisect
import json
import math
from collections.abc import Iterator, Mapping

from eks_ray_train.checks.finding import Problem, Severity
from eks_ray_train.checks.rule import Phase, Subject, rule
from eks_ray_train.trained_model import layout, reduce_width, trained_model
from environments.sections.training import MOST_DEADLINE_HOURS
from environments.settings import Settings
from training.plan import Assumptions
from training.plan_memory import memory
from training.plan_model import Model

_MIB = 1024**2
_FRUGAL = {"activation_checkpointing": "full", "sharding": "full"}


@rule("gpu-memory", "the model and its batch fit the GPUs' memory, spread as the settings say", phase=Phase.SETTINGS)
def batch_fits_the_gpus(subject: Subject) -> Iterator[Problem]:
    """A job that does not ends in its first step with "CUDA out of memory"."""
    yield from _too_large(
        subject.settings,
        above=1.0,
        expected="at most {mib:,} MiB, all that a GPU of this type ({gpu}) has; CUDA and NCCL take some of it too",
    )


@rule(
    "gpu-memory-room",
    "what fits the GPUs' memory leaves room for CUDA and NCCL",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def cuda_has_room(subject: Subject) -> Iterator[Problem]:
    """Their context and buffers, and what the allocator wastes, are in no arithmetic."""
    yield from _too_large(
        subject.settings,
        above=Assumptions.usable,
        up_to=1.0,
        expected="at most {most:,.0f} of the {mib:,} MiB that a GPU of this type ({gpu}) has, for CUDA and NCCL take "
        "some too",
    )


def _too_large(settings: Settings, *, above: float, expected: str, up_to: float = math.inf) -> Iterator[Problem]:
    """The batch, where it takes more than ``above`` and at most ``up_to`` of a GPU's memory."""
    gpu, model = settings.gpu_nodes.instance.gpu, trained_model(settings)
    if model is None or gpu is None:
        return
    least, training = least_memory(settings, model) / _MIB, settings.training
    if gpu.memory_mib * above < least <= gpu.memory_mib * up_to:
        yield Problem(
            field="training.micro_batch, training.sequence_length",
            value=f"{training.micro_batch} x {training.sequence_length} tokens, at least {least:,.0f} MiB on each GPU",
            expected=expected.format(most=gpu.memory_mib * above, mib=gpu.memory_mib, gpu=gpu.name),
            remedy=_what_fits(settings, model, gpu.memory_mib),
        )


@rule("training-deadline", "the deadline leaves the time that the steps take at the GPUs' peak", phase=Phase.SETTINGS)
def deadline_is_possible(subject: Subject) -> Iterator[Problem]:
    """A run that cannot end is paid for until its deadline."""
    settings, gpu = subject.settings, subject.settings.gpu_nodes.instance.gpu
    model = trained_model(settings)
    if model is None or gpu is None or gpu.bf16_flops is None:
        return
    training = settings.training
    # A batch that does not fit will be a smaller one.
    batch = _largest_batch(settings, model, gpu.memory_mib, {}) or 1
    tokens = batch * training.accumulation * training.sequence_length
    operations = tokens * model.flops_per_token(training.sequence_length)
    hours = training.steps * operations / gpu.bf16_flops / 3600
    if hours > training.deadline_hours:
        yield Problem(
            field="training.deadline_hours",
            value=training.deadline_hours,
            expected=f"more than {hours:.1f}: what {training.steps:,} steps of {tokens:,} tokens per GPU take if every "
            f"{gpu.name} computes at its peak all the time, of which a good run reaches half",
            remedy=_what_ends(settings, hours),
        )


@rule(
    "checkpoints-for-failures",
    "a run that may survive failures writes the checkpoints that it goes on from",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def failures_have_checkpoints(subject: Subject) -> Iterator[Problem]:
    """Without one, each lost node costs all steps before it."""
    training = subject.settings.training
    if training.max_failures and not training.checkpoint_every:
        yield Problem(
            field="training.checkpoint_every",
            value=0,
            expected=f"1 or more with max_failures = {training.max_failures}: without checkpoints a run that lost a "
            "node begins again at its first step, and pays for all of them twice",
            remedy="set checkpoint_every = 50, or max_failures = 0",
        )


def _what_fits(settings: Settings, model: Model, mib: int) -> str:
    training = settings.training
    # From the least that changes the run to the most.
    reshard = {} if training.reshard_after_forward else {"reshard_after_forward": True}
    for frugal in ({}, {"activation_checkpointing": "full"}, {"sharding": "full"}, _FRUGAL):
        if any(getattr(training, name) == value for name, value in frugal.items()):
            continue
        changes = {**reshard, **frugal}
        if batch := _largest_batch(settings, model, mib * Assumptions.usable, changes):
            wanted = {**changes, **({"micro_batch": batch} if batch < training.micro_batch else {})}
            text = " and ".join(f"{name} = {json.dumps(value)}" for name, value in wanted.items())
            return f"set {text}, or take larger GPUs"
    return "shorten training.sequence_length, or take larger GPUs: on these no batch fits with room for CUDA and NCCL"


def _largest_batch(settings: Settings, model: Model, mib: float, changes: Mapping[str, object]) -> int:
    """Sequences, at most as many as now; 0 where not even one fits."""

    def too_many(batch: int) -> bool:
        training = settings.training.model_copy(update={**changes, "micro_batch": batch})
        return least_memory(settings.model_copy(update={"training": training}), model) / _MIB > mib

    # Memory grows with the batch.
    return bisect.bisect_left(range(1, settings.training.micro_batch + 1), True, key=too_many)


def _what_ends(settings: Settings, hours: float) -> str:
    enough, most = math.ceil(2 * hours), settings.training.deadline_hours
    steps = int(settings.training.steps * most / (2 * hours))
    options = [f"set deadline_hours = {enough}"] if enough <= MOST_DEADLINE_HOURS else []
    options += [f"set steps = {steps}"] if steps else []
    return ", or ".join([*options, "take a shorter training.sequence_length or faster GPUs"])


def least_memory(settings: Settings, model: Model) -> float:
    """Bytes on each GPU at the peak of a step, without CUDA's own."""
    nodes, training = settings.gpu_nodes, settings.training
    return memory(
        model,
        layout=layout(settings),
        nodes=nodes.count,
        per_node=nodes.instance.gpus,
        tokens=training.micro_batch * training.sequence_length,
        checkpointing=training.activation_checkpointing,
        reshard=training.reshard_after_forward,
        accumulated=training.accumulation > 1,
        reduce_width=reduce_width(settings),
    ).peak
