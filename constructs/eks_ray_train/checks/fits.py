"""Every pod fits its node, and all do together: one that does not is Pending while the nodes bill."""

from collections.abc import Iterator, Sequence

from eks_ray_train.checks.finding import Finding
from eks_ray_train.checks.node_capacity import Amounts, allocatable
from eks_ray_train.checks.pods import DAEMONS_ON_EVERY_NODE, DAEMONS_ON_GPU_NODES, SYSTEM_PODS, Json, Pod, pods_of
from environments.settings import Settings
from k8s.namespace import FABRIC_CHECK_PRIORITY, WORKER_PRIORITY


def pods_fit(settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rule ``pod-fits``, by first fit of the largest first, on the nodes that the settings ask for."""
    pods = list(pods_of(objects))
    system, gpu = settings.system_nodes, settings.gpu_nodes
    yield from _place(
        [*(pod for pod in pods if pod.role == "system"), *SYSTEM_PODS],
        nodes=system.count,
        room=allocatable(system.instance) - DAEMONS_ON_EVERY_NODE,
        where=f"{system.count} x {system.instance_type} (system_nodes)",
    )
    # The fabric check takes the GPUs from the workers while it runs, so the two are never on a node together.
    for absent in (FABRIC_CHECK_PRIORITY, WORKER_PRIORITY):
        yield from _place(
            [pod for pod in pods if pod.role == "gpu-worker" and pod.priority_class != absent],
            nodes=gpu.count,
            room=allocatable(gpu.instance) - DAEMONS_ON_EVERY_NODE - DAEMONS_ON_GPU_NODES,
            where=f"{gpu.count} x {gpu.instance_type} (gpu_nodes)",
        )


def _place(pods: Sequence[Pod], *, nodes: int, room: Amounts, where: str) -> Iterator[Finding]:
    free = [room] * nodes
    for pod in sorted(pods, key=lambda pod: (-pod.requests.memory_mib, pod.name)):
        for _ in range(pod.count):
            target = next((index for index, amounts in enumerate(free) if pod.requests.fits(amounts)), None)
            if target is None:
                most = max(free, key=lambda amounts: amounts.memory_mib)
                yield Finding(
                    code="pod-fits",
                    field=pod.field,
                    value=f"{pod.requests} for {pod.name}",
                    expected=f"at most {most}, the most that is free on one of {where}",
                    remedy="ask for less, or choose a larger instance type or more nodes",
                )
                break
            free[target] = free[target] - pod.requests
