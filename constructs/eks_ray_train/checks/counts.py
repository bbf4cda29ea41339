"""The RayCluster agrees with the nodes: as many workers, and in each all GPUs and EFA interfaces of its node."""

from collections.abc import Iterator
from typing import Any

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.pods import container_amounts, pod_specs
from eks_ray_train.checks.rule import Phase, Subject, rule


@rule("worker-count", "there is one Ray worker per GPU node", phase=Phase.OBJECTS)
def workers_are_nodes(subject: Subject) -> Iterator[Problem]:
    """One too many is Pending for ever; one too few leaves a node idle, and billed."""
    for cluster in subject.of_kind("RayCluster"):
        replicas = sum(group["replicas"] for group in cluster["spec"]["workerGroupSpecs"])
        nodes = subject.settings.gpu_nodes.count
        if replicas != nodes:
            yield _disagrees("workerGroupSpecs.replicas", replicas, nodes, "one per node")


@rule("gpu-count", "each Ray worker takes all GPUs of its node", phase=Phase.OBJECTS)
def workers_take_all_gpus(subject: Subject) -> Iterator[Problem]:
    """Fewer than there are trains on fewer; more are never there."""
    node = subject.settings.gpu_nodes.instance
    for container in _workers(subject):
        gpus = container_amounts(container, "limits").gpus
        if gpus != node.gpus:
            yield _disagrees("a worker's nvidia.com/gpu", gpus, node.gpus, f"all of a {node.name}")


@rule("efa-count", "each Ray worker takes all EFA interfaces of its node", phase=Phase.OBJECTS)
def workers_take_all_efa_interfaces(subject: Subject) -> Iterator[Problem]:
    """A pod sees only the interfaces that it asks for."""
    node = subject.settings.gpu_nodes.instance
    for container in _workers(subject):
        interfaces = container_amounts(container, "limits").efa_interfaces
        if interfaces != node.efa_interfaces:
            yield _disagrees(
                "a worker's vpc.amazonaws.com/efa",
                interfaces,
                node.efa_interfaces,
                f"all of a {node.name}: without them NCCL sees no EFA",
            )


@rule("ray-gpu-count", "Ray counts as many GPUs in a worker as Kubernetes gives it", phase=Phase.OBJECTS)
def ray_counts_the_same_gpus(subject: Subject) -> Iterator[Problem]:
    """Ray schedules by its own count."""
    for group in _groups(subject):
        gpus = container_amounts(group["template"]["spec"]["containers"][0], "limits").gpus
        counted = group["rayStartParams"].get("num-gpus")
        if counted != str(gpus):
            yield _disagrees(
                "a worker's rayStartParams.num-gpus",
                counted,
                gpus,
                "Kubernetes' own limit, or Ray schedules on GPUs that the pod has not",
            )


@rule("requests-are-limits", "every container asks for what it may use", phase=Phase.OBJECTS)
def requests_are_limits(subject: Subject) -> Iterator[Problem]:
    """A pod whose containers all do is Guaranteed: throttled and evicted last."""
    for name, spec in pod_specs(subject.objects):
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            requests, limits = container_amounts(container), container_amounts(container, "limits")
            if requests != limits:
                yield Problem(
                    field=f"{name}: {container['name']}: requests",
                    value=requests,
                    expected=f"{limits}, its limits, or the kernel throttles one rank and with it all",
                    remedy="use Resources of k8s/pods.py, which sets both",
                )


def _groups(subject: Subject) -> Iterator[Any]:
    for cluster in subject.of_kind("RayCluster"):
        yield from cluster["spec"]["workerGroupSpecs"]


def _workers(subject: Subject) -> Iterator[Any]:
    for group in _groups(subject):
        yield group["template"]["spec"]["containers"][0]


def _disagrees(field: str, value: object, expected: object, why: str) -> Problem:
    return Problem(
        field=f"RayCluster: {field}",
        value=value,
        expected=f"{expected}: {why}",
        remedy="derive it from gpu_nodes and the instance table (constructs/eks_ray_train/training_job.py)",
    )
