"""A Node as its kubelet registers it."""

import json
from typing import Any

from eks_ray_train.checks.node_capacity import allocatable, max_pods
from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.reservations import Instance

DEVICES = "rehearsal/devices"


def node_object(name: str, launched: Instance, group: NodeGroup, region: str) -> dict[str, Any]:
    """Return a Node as its kubelet registers it; the devices wait in an annotation for their plugins."""
    plan, instance, room = group.plan, group.plan.instance, allocatable(group.plan.instance)
    devices = {"nvidia.com/gpu": plan.gpus, "vpc.amazonaws.com/efa": plan.efa_interfaces}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **plan.labels,
                "eks.amazonaws.com/capacityType": group.description["capacityType"],
                "eks.amazonaws.com/nodegroup": group.description["nodegroupName"],
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": instance.name,
                "topology.kubernetes.io/region": region,
                "topology.kubernetes.io/zone": launched.zone,
            },
            "annotations": {DEVICES: json.dumps({key: str(count) for key, count in devices.items() if count})},
        },
        "spec": {
            "providerID": f"aws:///{launched.zone}/{launched.id}",
            **({"taints": list(plan.taints)} if plan.taints else {}),
        },
        "status": {
            "capacity": {
                "cpu": str(instance.vcpus),
                "memory": f"{instance.memory_mib}Mi",
                "pods": str(max_pods(instance)),
            },
            "allocatable": {
                "cpu": f"{room.cpu_m}m",
                "memory": f"{room.memory_mib}Mi",
                "pods": str(max_pods(instance)),
            },
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
