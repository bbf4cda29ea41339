"""Which pods go to which nodes, and what they see there."""

from collections.abc import Iterator
from typing import Any

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.pods import container_amounts, pod_specs
from eks_ray_train.checks.rule import Phase, Subject, rule
from k8s.pods import GPU, GPU_NODE, SYSTEM_NODE


@rule("pod-node", "every pod names the kind of node that it is for", phase=Phase.OBJECTS)
def pods_name_their_nodes(subject: Subject) -> Iterator[Problem]:
    """A pod without a selector lands anywhere, and pulls 20 GB there."""
    for name, spec in pod_specs(subject.objects):
        if spec.get("nodeSelector") not in (SYSTEM_NODE, GPU_NODE):
            yield Problem(
                field=f"{name}: nodeSelector",
                value=spec.get("nodeSelector"),
                expected=f"{SYSTEM_NODE} or {GPU_NODE}: a pod that names no node may take a GPU node's room, or none",
                remedy="set it in k8s/",
            )


@rule("pod-toleration", "pods of the GPU nodes tolerate their taint, and no other pods do", phase=Phase.OBJECTS)
def tolerations_follow_the_taint(subject: Subject) -> Iterator[Problem]:
    """A pod of the GPU nodes that does not is Pending for ever."""
    for name, spec in pod_specs(subject.objects):
        wanted = spec.get("nodeSelector") == GPU_NODE
        tolerates = any(toleration.get("key") in (GPU, None) for toleration in spec.get("tolerations", []))
        if tolerates != wanted:
            yield Problem(
                field=f"{name}: tolerations",
                value=spec.get("tolerations", []),
                expected=f"one for {GPU}: the GPU nodes turn every other pod away" if wanted else f"none for {GPU}",
                remedy="set it in k8s/",
            )


@rule("gpu-visibility", "a container that asks for no GPU sees none", phase=Phase.OBJECTS)
def only_those_that_ask_see_gpus(subject: Subject) -> Iterator[Problem]:
    """The image says NVIDIA_VISIBLE_DEVICES=all, and the runtime hands all GPUs to whoever runs it."""
    for name, spec in pod_specs(subject.objects):
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            visible = _variable(container, "NVIDIA_VISIBLE_DEVICES")
            if not container_amounts(container, "limits").gpus and visible != "void":
                yield Problem(
                    field=f"{name}: {container['name']}: NVIDIA_VISIBLE_DEVICES",
                    value=visible,
                    expected='"void": the image asks for all GPUs, and gets them without a request: two pods then '
                    "share a GPU, and on a node without a driver the container fails",
                    remedy="add NO_GPUS of k8s/pods.py to its environment",
                )


@rule("huge-pages", "no pod asks for huge pages, which the nodes may not have", phase=Phase.OBJECTS)
def no_pod_asks_for_huge_pages(subject: Subject) -> Iterator[Problem]:
    """On a node without them such a pod is Pending, and no event says why."""
    for name, spec in pod_specs(subject.objects):
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            for amounts in container.get("resources", {}).values():
                for resource in sorted(key for key in amounts if key.startswith("hugepages-")):
                    yield Problem(
                        field=f"{name}: {container['name']}: {resource}",
                        value=amounts[resource],
                        expected="none: whether the AMI sets any aside differs between releases",
                        remedy="remove it; FI_EFA_USE_HUGE_PAGE=0 makes libfabric do without",
                    )


def _variable(container: Any, name: str) -> str | None:
    return next((each.get("value") for each in container.get("env", []) if each["name"] == name), None)
