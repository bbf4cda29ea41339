"""The RayCluster agrees with the nodes: as many workers, and in each all GPUs and EFA interfaces of its node."""

from collections.abc import Iterator, Sequence

from eks_ray_train.checks.finding import Finding
from eks_ray_train.checks.pods import Json, container_amounts
from environments.settings import Settings


def counts_agree(settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rules ``worker-count``, ``gpu-count``, ``efa-count``, ``ray-gpu-count`` and ``requests-are-limits``."""
    node = settings.gpu_nodes.instance
    for cluster in (obj for obj in objects if obj["kind"] == "RayCluster"):
        groups = cluster["spec"]["workerGroupSpecs"]
        replicas = sum(group["replicas"] for group in groups)
        if replicas != settings.gpu_nodes.count:
            yield _disagrees(
                "worker-count", "workerGroupSpecs.replicas", replicas, settings.gpu_nodes.count, "one per node"
            )
        for group in groups:
            container = group["template"]["spec"]["containers"][0]
            limits = container_amounts(container, "limits")
            if limits.gpus != node.gpus:
                yield _disagrees(
                    "gpu-count", "a worker's nvidia.com/gpu", limits.gpus, node.gpus, f"all of a {node.name}"
                )
            if limits.efa_interfaces != node.efa_interfaces:
                yield _disagrees(
                    "efa-count",
                    "a worker's vpc.amazonaws.com/efa",
                    limits.efa_interfaces,
                    node.efa_interfaces,
                    f"all of a {node.name}: without them NCCL sees no EFA",
                )
            if group["rayStartParams"].get("num-gpus") != str(limits.gpus):
                yield _disagrees(
                    "ray-gpu-count",
                    "a worker's rayStartParams.num-gpus",
                    group["rayStartParams"].get("num-gpus"),
                    limits.gpus,
                    "Kubernetes' own limit, or Ray schedules on GPUs that the pod has not",
                )
            if container_amounts(container) != limits:
                yield _disagrees(
                    "requests-are-limits",
                    "a worker's requests",
                    container_amounts(container),
                    limits,
                    "its limits, or the kernel throttles one rank and with it all",
                )


def _disagrees(code: str, field: str, value: object, expected: object, why: str) -> Finding:
    return Finding(
        code=code,
        field=f"RayCluster: {field}",
        value=value,
        expected=f"{expected}: {why}",
        remedy="derive it from gpu_nodes and the instance table (constructs/eks_ray_train/training_job.py)",
    )
