"""The shape of the local Ray cluster: the RayCluster's own, or what this machine's memory can hold of it."""

from dataclasses import dataclass
from typing import Any

from rehearsal.assembly import name_of
from rehearsal.errors import RehearsalError

GIB = 1024**3
# Measured on Linux with the stand-in model: see README.md, "Memory".
WORKER_BYTES = 1 * GIB
HEAD_BYTES = 2 * GIB
POD_BYTES = GIB // 2


@dataclass(frozen=True)
class Shape:
    """`pods` worker pods of `slots` training processes each."""

    pods: int
    slots: int

    @property
    def world_size(self) -> int:
        """Number of training processes."""
        return self.pods * self.slots

    @property
    def bytes(self) -> int:
        """Memory that the local cluster and its training processes need."""
        return HEAD_BYTES + self.pods * (POD_BYTES + self.slots * WORKER_BYTES)

    def __str__(self) -> str:
        """Name it as it is shown."""
        return f"{self.pods} worker pod{'s' if self.pods > 1 else ''} x {self.slots} = world size {self.world_size}"


def cluster_shape(ray_cluster: dict[str, Any]) -> Shape:
    """Return replicas x GPUs of the RayCluster's worker group. Raises RehearsalError."""
    name = f"RayCluster {name_of(ray_cluster)} spec.workerGroupSpecs"
    groups = ray_cluster["spec"].get("workerGroupSpecs", [])
    if len(groups) != 1:
        raise RehearsalError(name, f"{len(groups)} groups", "one group", "The rehearsal knows one kind of worker pod.")
    pods = _positive(f"{name}[0].replicas", groups[0].get("replicas"))
    slots = _positive(f'{name}[0].rayStartParams["num-gpus"]', groups[0].get("rayStartParams", {}).get("num-gpus"))
    return Shape(pods, slots)


def scale_to_memory(shape: Shape, available: int) -> Shape:
    """Return the largest shape, at most `shape`, that needs at most `available` bytes. Raises RehearsalError.

    Pods are kept as long as possible, for training across them is what is rehearsed; they stay equal, as they are.
    """
    for pods in range(shape.pods, 0, -1):
        for slots in range(shape.slots, 0, -1):
            if Shape(pods, slots).bytes <= available:
                return Shape(pods, slots)
    smallest = Shape(1, 1).bytes
    raise RehearsalError(
        "memory",
        f"{available / GIB:.1f} GiB available",
        f"{smallest / GIB:.1f} GiB for Ray and one training process",
        "Close other programs, or use a machine with more memory.",
    )


def _positive(field: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise RehearsalError(field, repr(value), "a whole number of at least 1", "See k8s/ray_cluster.py.")
    return number
