"""The pods that the emitted objects will make, and what else runs on the nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_ray_train.checks.node_capacity import Amounts
from k8s.pods import EFA, GPU, GPU_NODE

Json = Mapping[str, Any]
_BINARY_MIB = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024, "Ti": 1024**2}


@dataclass(frozen=True, kw_only=True)
class Pod:
    """One kind of pod: how many, where, and what each asks for."""

    name: str
    field: str
    count: int
    role: str
    priority_class: str
    requests: Amounts


# Requests of what the charts and add-ons bring, read in their manifests; each of their pods counts against the node's.
DAEMONS_ON_EVERY_NODE = Amounts(cpu_m=50 + 100 + 20, memory_mib=150, pods=4)  # CNI, kube-proxy, the two agents
# The EFA device plugin; NVIDIA's, and the server that the monitoring agent asks about GPUs, request nothing.
DAEMONS_ON_GPU_NODES = Amounts(cpu_m=10, memory_mib=20, pods=3)
SYSTEM_PODS = (
    Pod(
        name="kuberay-operator",
        field="system_nodes.instance_type",
        count=1,
        role="system",
        priority_class="",
        requests=Amounts(cpu_m=100, memory_mib=512, pods=1),
    ),
    Pod(
        name="coredns",
        field="system_nodes.instance_type",
        count=2,
        role="system",
        priority_class="",
        requests=Amounts(cpu_m=100, memory_mib=70, pods=1),
    ),
)


def pods_of(objects: Sequence[Json]) -> Iterator[Pod]:
    """The pods of every Job, RayCluster and RayJob among ``objects``."""
    for obj in objects:
        spec = obj.get("spec", {})
        if obj["kind"] == "Job":
            name = spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"]
            pod = spec["template"]["spec"]
            nodes = "gpu_nodes" if pod.get("nodeSelector") == GPU_NODE else "system_nodes"
            yield _pod(name, f"{nodes}.instance_type", spec["completions"], pod)
        elif obj["kind"] == "RayCluster":
            yield _pod("ray-head", "ray.head", 1, spec["headGroupSpec"]["template"]["spec"])
            for group in spec["workerGroupSpecs"]:
                yield _pod("ray-worker", "ray.worker", group["replicas"], group["template"]["spec"])
        elif obj["kind"] == "RayJob" and "submitterPodTemplate" in spec:
            yield _pod("ray-job-submitter", "system_nodes.instance_type", 1, spec["submitterPodTemplate"]["spec"])


def pod_specs(objects: Sequence[Json]) -> Iterator[tuple[str, Any]]:
    """Every pod spec among ``objects``, with a name for it that says what the pod is."""
    for obj in objects:
        spec = obj.get("spec", {})
        if obj["kind"] == "Job":
            yield spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"], spec["template"]["spec"]
        elif obj["kind"] == "RayCluster":
            yield "ray-head", spec["headGroupSpec"]["template"]["spec"]
            for group in spec["workerGroupSpecs"]:
                yield "ray-worker", group["template"]["spec"]
        elif obj["kind"] == "RayJob" and "submitterPodTemplate" in spec:
            yield "ray-job-submitter", spec["submitterPodTemplate"]["spec"]


def container_amounts(container: Json, which: str = "requests") -> Amounts:
    """What a container requests, or its limits; what it does not state is zero."""
    amounts = container.get("resources", {}).get(which, {})
    return Amounts(
        cpu_m=_cpu_m(amounts.get("cpu", "0")),
        memory_mib=_memory_mib(amounts.get("memory", "0")),
        gpus=int(amounts.get(GPU, 0)),
        efa_interfaces=int(amounts.get(EFA, 0)),
    )


def _pod(name: str, field: str, count: int, spec: Json) -> Pod:
    requests = sum((container_amounts(container) for container in spec["containers"]), Amounts(pods=1))
    for init in spec.get("initContainers", []):
        # Init containers run before the others, one at a time: the pod asks for the larger of the two.
        needs = container_amounts(init)
        requests = Amounts(
            cpu_m=max(requests.cpu_m, needs.cpu_m),
            memory_mib=max(requests.memory_mib, needs.memory_mib),
            gpus=max(requests.gpus, needs.gpus),
            efa_interfaces=max(requests.efa_interfaces, needs.efa_interfaces),
            pods=1,
        )
    return Pod(
        name=name,
        field=field,
        count=count,
        role=spec.get("nodeSelector", {}).get("role", "system"),
        priority_class=spec.get("priorityClassName", ""),
        requests=requests,
    )


def _cpu_m(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else round(float(quantity) * 1000)


def _memory_mib(quantity: str) -> int:
    if quantity[-2:] in _BINARY_MIB:
        return round(float(quantity[:-2]) * _BINARY_MIB[quantity[-2:]])
    return round(int(quantity) / 1024**2)
