"""Fragments that the pods share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"

SYSTEM_NODE = {"role": "system"}
GPU_NODE = {"role": "gpu-worker"}
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}

ON_GPU_NODES: Mapping[str, Any] = {"nodeSelector": GPU_NODE, "tolerations": [GPU_TOLERATION]}
ON_SYSTEM_NODES: Mapping[str, Any] = {"nodeSelector": SYSTEM_NODE}
"""Where a pod goes: a part of its spec."""

WORKER_PRIORITY = "ray-worker"
FABRIC_CHECK_PRIORITY = "fabric-check"

# The NVIDIA runtime hands all GPUs to a container whose image says NVIDIA_VISIBLE_DEVICES=all, request or none, and
# fails it on a node without a driver. Every container that needs no GPU says so.
NO_GPUS = {"NVIDIA_VISIBLE_DEVICES": "void"}

SECURITY_CONTEXT = {"allowPrivilegeEscalation": False, "seccompProfile": {"type": "RuntimeDefault"}}


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What a container asks for. Limits equal requests: the pod is Guaranteed, throttled or evicted last."""

    cpu: str
    memory: str
    gpus: int = 0
    efa_interfaces: int = 0

    def to_json(self) -> dict[str, dict[str, str]]:
        """The container's ``resources``."""
        amounts = {"cpu": self.cpu, "memory": self.memory}
        if self.gpus:
            amounts[GPU] = str(self.gpus)
        if self.efa_interfaces:
            amounts[EFA] = str(self.efa_interfaces)
        return {"requests": dict(amounts), "limits": dict(amounts)}


def env(variables: Mapping[str, str]) -> list[dict[str, str]]:
    """A container's ``env``, in the order given."""
    return [{"name": name, "value": value} for name, value in variables.items()]


def one_per_node(
    name: str, pod_spec: Mapping[str, Any], *, where: Mapping[str, Any], nodes: int, deadline_seconds: int
) -> dict[str, Any]:
    """The spec of a Job of ``nodes`` pods, no two on one node. Nothing is retried: the first error is the news."""
    labels = {"app.kubernetes.io/name": name}
    spread = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    return {
        "completions": nodes,
        "parallelism": nodes,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "activeDeadlineSeconds": deadline_seconds,
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                **where,
                "affinity": spread,
                **pod_spec,
            },
        },
    }
