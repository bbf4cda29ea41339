"""What lies in memory inside a pod, against the pod's own limit."""

from collections.abc import Iterator

from eks_ray_train.checks.finding import Finding
from environments.settings import Settings

# Four training processes and Ray itself; their tensors are in GPU memory.
_WORKER_BESIDE_SHARED_GIB = 32
# The dashboard, the control store and a driver that imports torch, beside 1 GiB of object store.
_SMALLEST_HEAD_GIB = 6


def memory_suffices(settings: Settings) -> Iterator[Finding]:
    """Rule ``pod-memory``: the kernel ends a pod over its limit, on nodes that are paid for."""
    ray = settings.ray
    most = ray.worker.memory_gib - _WORKER_BESIDE_SHARED_GIB
    if ray.shared_memory_gib > most:
        yield Finding(
            code="pod-memory",
            field="ray.shared_memory_gib",
            value=ray.shared_memory_gib,
            expected=f"at most {most}: it counts as memory of the worker ({ray.worker.memory_gib} GiB), whose "
            f"processes need {_WORKER_BESIDE_SHARED_GIB} GiB beside it",
            remedy="lower it, or raise ray.worker.memory_gib",
        )
    if ray.head.memory_gib < _SMALLEST_HEAD_GIB:
        yield Finding(
            code="pod-memory",
            field="ray.head.memory_gib",
            value=ray.head.memory_gib,
            expected=f"at least {_SMALLEST_HEAD_GIB} GiB for Ray's services and the driver",
            remedy="raise it",
        )
