"""From settings to what the Ray charts take."""

from collections.abc import Mapping
from pathlib import Path

from environments.settings import Settings
from k8s.pods import Resources


def read_code(folder: Path) -> dict[str, str]:
    """The job's code: the Python files of ``folder`` by name, in a fixed order."""
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}


def training_arguments(settings: Settings) -> Mapping[str, str]:
    """The command line of ``python -m training.train``, by option name."""
    training = settings.training
    return {
        "model": training.model,
        "revision": training.revision,
        "data": training.data,
        "steps": str(training.steps),
        "sequence-length": str(training.sequence_length),
        "micro-batch": str(training.micro_batch),
        "learning-rate": repr(training.learning_rate),
        "seed": str(training.seed),
        # Not left to the job to count: with a worker missing it would train on the GPUs that are there.
        "workers": str(settings.world_size),
    }


def head_resources(settings: Settings) -> Resources:
    """What the Ray head asks for."""
    head = settings.ray.head
    return Resources(cpu=str(head.cpu), memory=f"{head.memory_gib}Gi")


def worker_resources(settings: Settings) -> Resources:
    """What a Ray worker asks for: with the GPUs and EFA interfaces of its whole node."""
    worker, node = settings.ray.worker, settings.gpu_nodes.instance
    return Resources(
        cpu=str(worker.cpu), memory=f"{worker.memory_gib}Gi", gpus=node.gpus, efa_interfaces=node.efa_interfaces
    )
