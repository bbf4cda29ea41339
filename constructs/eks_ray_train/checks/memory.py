"""What lies in memory inside a pod, against the pod's own limit."""

from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule
from environments.sections.ray import LEAST_SHARED_MEMORY_GIB

# Four training processes and Ray itself; their tensors are in GPU memory.
_WORKER_BESIDE_SHARED_GIB = 32
# The dashboard, the control store and a driver that imports torch, beside 1 GiB of object store.
_SMALLEST_HEAD_GIB = 6


@rule("worker-memory", "a worker's memory holds its /dev/shm and its processes", phase=Phase.SETTINGS)
def worker_memory_suffices(subject: Subject) -> Iterator[Problem]:
    """The kernel ends a pod over its limit, on nodes that are paid for."""
    ray = subject.settings.ray
    most = ray.worker.memory_gib - _WORKER_BESIDE_SHARED_GIB
    if ray.shared_memory_gib > most:
        yield Problem(
            field="ray.shared_memory_gib",
            value=ray.shared_memory_gib,
            expected=f"at most {most}: it counts as memory of the worker ({ray.worker.memory_gib} GiB), whose "
            f"processes need {_WORKER_BESIDE_SHARED_GIB} GiB beside it",
            remedy=f"{_lower(most)} or raise ray.worker.memory_gib",
        )


def _lower(most: int) -> str:
    return f"set shared_memory_gib = {most}," if most >= LEAST_SHARED_MEMORY_GIB else "leave [ray.worker] out,"


@rule("head-memory", "the Ray head's memory holds Ray's services and the driver", phase=Phase.SETTINGS)
def head_memory_suffices(subject: Subject) -> Iterator[Problem]:
    """A head that is ended takes the job with it."""
    head = subject.settings.ray.head
    if head.memory_gib < _SMALLEST_HEAD_GIB:
        yield Problem(
            field="ray.head.memory_gib",
            value=head.memory_gib,
            expected=f"at least {_SMALLEST_HEAD_GIB} GiB for Ray's services and the driver",
            remedy=f"set memory_gib = {_SMALLEST_HEAD_GIB}",
        )
