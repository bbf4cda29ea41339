"""The pods that the emitted objects will make, and what else runs on the nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_ray_train.checks.node_capacity import Amounts
from k8s.pods import EFA, GPU

Json = Mapping[str, Any]
_MEMORY_MIB = {"Mi": 1, "Gi": 1024}


@dataclass(frozen=True, kw_only=True)
class Pod:
    """One kind of pod: how many, where, and what each asks for."""

    name: str
    field: str
    count: int
    role: str
    priority_class: str
    requests: Amounts


# Requests of what the charts and add-ons bring, read in their manifests.
DAEMONS_ON_EVERY_NODE = Amounts(cpu_m=50 + 100 + 20, memory_mib=150)  # VPC CNI, kube-proxy, node and identity agents
DAEMONS_ON_GPU_NODES = Amounts(cpu_m=10, memory_mib=20)  # EFA device plugin; NVIDIA's asks for nothing
SYSTEM_PODS = (
    Pod(
        name="kuberay-operator",
        field="system_nodes.instance_type",
        count=1,
        role="system",
        priority_class="",
        requests=Amounts(cpu_m=100, memory_mib=512),
    ),
    Pod(
        name="coredns",
        field="system_nodes.instance_type",
        count=2,
        role="system",
        priority_class="",
        requests=Amounts(cpu_m=100, memory_mib=70),
    ),
)


def pods_of(objects: Sequence[Json]) -> Iterator[Pod]:
    """The pods of every Job, RayCluster and RayJob among ``objects``."""
    for obj in objects:
        spec = obj.get("spec", {})
        if obj["kind"] == "Job":
            name = spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"]
            yield _pod(name, "gpu_nodes.instance_type", spec["completions"], spec["template"]["spec"])
        elif obj["kind"] == "RayCluster":
            yield _pod("ray-head", "ray.head", 1, spec["headGroupSpec"]["template"]["spec"])
            for group in spec["workerGroupSpecs"]:
                yield _pod("ray-worker", "ray.worker", group["replicas"], group["template"]["spec"])
        elif obj["kind"] == "RayJob":
            yield _pod("ray-job-submitter", "system_nodes.instance_type", 1, spec["submitterPodTemplate"]["spec"])


def container_amounts(container: Json, which: str = "requests") -> Amounts:
    """What a container requests, or its limits."""
    amounts = container["resources"][which]
    return Amounts(
        cpu_m=_cpu_m(amounts["cpu"]),
        memory_mib=_memory_mib(amounts["memory"]),
        gpus=int(amounts.get(GPU, 0)),
        efa_interfaces=int(amounts.get(EFA, 0)),
    )


def _pod(name: str, field: str, count: int, spec: Json) -> Pod:
    requests = sum((container_amounts(container) for container in spec["containers"]), Amounts())
    for init in spec.get("initContainers", []):
        # Init containers run before the others, one at a time: the pod asks for the larger of the two.
        needs = container_amounts(init)
        requests = Amounts(
            cpu_m=max(requests.cpu_m, needs.cpu_m),
            memory_mib=max(requests.memory_mib, needs.memory_mib),
            gpus=max(requests.gpus, needs.gpus),
            efa_interfaces=max(requests.efa_interfaces, needs.efa_interfaces),
        )
    return Pod(
        name=name,
        field=field,
        count=count,
        role=spec["nodeSelector"]["role"],
        priority_class=spec.get("priorityClassName", ""),
        requests=requests,
    )


def _cpu_m(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def _memory_mib(quantity: str) -> int:
    return int(quantity[:-2]) * _MEMORY_MIB[quantity[-2:]]
