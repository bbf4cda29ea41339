"""From settings to what the Ray charts take."""

from collections.abc import Mapping
from pathlib import Path

from eks_ray_train.costs import hourly, known_total
from environments.settings import Settings
from k8s.pods import Resources

# Modules of training/ that plan a run and take no part in it: the checks import them, and a ConfigMap has little room.
PLANNING = frozenset({"plan.py", "plan_memory.py"})


def read_code(folder: Path) -> dict[str, str]:
    """The job's code: the Python files of ``folder`` by name, in a fixed order, without those of PLANNING."""
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py")) if path.name not in PLANNING}


def training_arguments(settings: Settings) -> Mapping[str, str]:
    """The command line of ``python -m training.supervise``, by option name."""
    training, gpu = settings.training, settings.gpu_nodes.instance.gpu
    usd_per_hour, unpriced = known_total(hourly(settings))
    optional = {
        "data-revision": training.data_revision,
        "text-field": training.text_field,
        "keep-checkpoints": str(training.keep_checkpoints) if training.checkpoint_every else None,
        "resume": training.resume,
        "peak-flops": f"{gpu.bf16_flops:.0f}" if gpu is not None and gpu.bf16_flops is not None else None,
        "usd-per-hour": None if unpriced else f"{usd_per_hour:.4f}",
    }
    return {
        "model": training.model,
        "revision": training.revision,
        "data": training.data,
        "steps": str(training.steps),
        "sequence-length": str(training.sequence_length),
        "micro-batch": str(training.micro_batch),
        "accumulation": str(training.accumulation),
        "learning-rate": repr(training.learning_rate),
        "warmup-steps": str(training.warmup_steps),
        "schedule": training.schedule,
        "seed": str(training.seed),
        "mesh": training.sharding,
        "activation-checkpointing": training.activation_checkpointing,
        "reshard-after-forward": _on(training.reshard_after_forward),
        "reduce-dtype": training.reduce_dtype,
        "compile": _on(training.compile),
        "evaluate-every": str(training.evaluate_every),
        "evaluation-sequences": str(training.evaluation_sequences),
        "profile-steps": str(training.profile_steps),
        "checkpoint-every": str(training.checkpoint_every),
        "max-failures": str(training.max_failures),
        "require-transport": training.require_transport,
        **{name: value for name, value in optional.items() if value is not None},
        # Not left to the job to count: with a worker missing it would train on the GPUs that are there.
        "workers": str(settings.world_size),
    }


def _on(switch: bool) -> str:
    return "on" if switch else "off"


def head_resources(settings: Settings) -> Resources:
    """What the Ray head asks for."""
    head = settings.ray.head
    return Resources(cpu=str(head.cpu), memory=f"{head.memory_gib}Gi")


def worker_transport(settings: Settings) -> Mapping[str, str]:
    """The workers' variables for NCCL and libfabric: what the instance type needs, then what the settings say."""
    return {**settings.gpu_nodes.instance.nccl, **settings.ray.transport}


def worker_resources(settings: Settings) -> Resources:
    """What a Ray worker asks for: with the GPUs and EFA interfaces of its whole node."""
    worker, node = settings.ray.worker, settings.gpu_nodes.instance
    return Resources(
        cpu=str(worker.cpu), memory=f"{worker.memory_gib}Gi", gpus=node.gpus, efa_interfaces=node.efa_interfaces
    )
