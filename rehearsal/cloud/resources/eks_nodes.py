"""The nodes of a node group: their capacity in EC2, and their Node objects in Kubernetes."""

import json
import uuid
from collections import Counter
from typing import Any

from eks_ray_train.checks.node_capacity import allocatable, max_pods
from rehearsal.cloud.account import Account
from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.eks_node_group_checks import NodePlan, check_taints

DEVICES = "rehearsal/devices"


def launch(plan: NodePlan, count: int, account: Account) -> list[str]:
    """Take ``count`` instances, spread over the zones; return the zone of each. Gives all back when one is missing."""
    taken: list[str] = []
    while len(taken) < count:
        placed = Counter(taken)
        refusals = []
        for zone in sorted(set(plan.zones), key=lambda zone: placed[zone]):
            try:
                account.capacity.take(zone, plan.instance.name, 1)
            except RefusedError as error:
                refusals.append(str(error))
                continue
            taken.append(zone)
            break
        else:
            terminate(plan.instance.name, taken, account)
            raise RefusedError(
                "AsgInstanceLaunchFailures: Could not launch On-Demand Instances. InsufficientInstanceCapacity - "
                f"{refusals[0]} Launching EC2 instance failed."
            )
    return taken


def terminate(instance_type: str, zones: list[str], account: Account) -> None:
    """Give instances back."""
    for zone in zones:
        account.capacity.give_back(zone, instance_type, 1)


def register(group: NodeGroup, zones: list[str], plan: NodePlan, wanted: dict[str, Any], account: Account) -> None:
    """Make a Node object for each new instance."""
    for zone in zones:
        token = uuid.uuid4()
        name = f"ip-10-{token.bytes[0]}-{token.bytes[1]}-{token.bytes[2]}.{account.region}.compute.internal"
        account.kubernetes.create_node(node_object(name, zone, plan, wanted, account.region))
        group.nodes[name] = zone


def deregister(group: NodeGroup, names: list[str], account: Account) -> None:
    """Remove Node objects and give their instances back."""
    for name in names:
        account.kubernetes.delete_node(name)
        terminate(group.instance_type, [group.nodes.pop(name)], account)


def node_object(name: str, zone: str, plan: NodePlan, wanted: dict[str, Any], region: str) -> dict[str, Any]:
    """Return a Node as its kubelet registers it; the devices wait in an annotation for their plugins."""
    instance, room = plan.instance, allocatable(plan.instance)
    devices = {"nvidia.com/gpu": plan.gpus, "vpc.amazonaws.com/efa": plan.efa_interfaces}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **wanted.get("Labels", {}),
                "eks.amazonaws.com/capacityType": wanted.get("CapacityType", "ON_DEMAND"),
                "eks.amazonaws.com/nodegroup": wanted["NodegroupName"],
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": instance.name,
                "topology.kubernetes.io/region": region,
                "topology.kubernetes.io/zone": zone,
            },
            "annotations": {DEVICES: json.dumps({key: str(count) for key, count in devices.items() if count})},
        },
        "spec": {
            "providerID": f"aws:///{zone}/i-{uuid.uuid4().hex[:17]}",
            **({"taints": check_taints(wanted["Taints"])} if wanted.get("Taints") else {}),
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
