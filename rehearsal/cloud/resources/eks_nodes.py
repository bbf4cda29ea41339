"""The nodes of a node group: their capacity in EC2, and their Node objects in Kubernetes."""

import json
import uuid
from collections import Counter
from typing import Any

from eks_ray_train.checks.node_capacity import allocatable, max_pods
from rehearsal.cloud.account import Account
from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.launches import launch as start
from rehearsal.cloud.reservations import BLOCK, Instance
from rehearsal.cloud.resources.eks_node_group_checks import NodePlan, check_taints

DEVICES = "rehearsal/devices"


def launch(group: NodeGroup, plan: NodePlan, count: int, account: Account) -> list[Instance]:
    """Start ``count`` instances, spread over the zones, as the group's Auto Scaling group does.

    Raises RefusedError in EKS's words where one is missing, and then starts none.
    """
    taken: list[Instance] = []
    while len(taken) < count:
        placed = Counter(instance.zone for instance in taken)
        refusals = []
        for zone, subnet in sorted(plan.subnets.items(), key=lambda item: placed[item[0]]):
            try:
                instance = start(plan.launch_in(zone), account)
            except RefusedError as error:
                refusals.append(_words(error, plan))
                group.scaling.failed(refusals[-1], zone, subnet)
                continue
            group.scaling.launched(instance.id, zone, subnet)
            taken.append(instance)
            break
        else:
            terminate(group, taken, account)
            group.description["status"] = "CREATE_FAILED" if not group.nodes else "DEGRADED"
            issue = {
                "code": "AsgInstanceLaunchFailures",
                "message": refusals[0],
                "resourceIds": [group.scaling.name],
            }
            group.description["health"] = {"issues": [issue]}
            raise RefusedError(
                'Resource handler returned message: "[Issue(Code=AsgInstanceLaunchFailures, '
                f"Message={refusals[0]}, ResourceIds=[{group.scaling.name}])] (Service: null, Status Code: 0, Request "
                'ID: null)" (HandlerErrorCode: GeneralServiceException)'
            )
    return taken


def terminate(group: NodeGroup, instances: list[Instance], account: Account) -> None:
    """End instances."""
    for instance in instances:
        account.capacity.terminate(instance.id)
        group.scaling.terminated(instance.id, instance.zone)


def register(
    group: NodeGroup, instances: list[Instance], plan: NodePlan, wanted: dict[str, Any], account: Account
) -> None:
    """Make a Node object for each new instance, and say from which reservation it was launched."""
    for instance in instances:
        token = uuid.uuid4()
        name = f"ip-10-{token.bytes[0]}-{token.bytes[1]}-{token.bytes[2]}.{account.region}.compute.internal"
        account.kubernetes.create_node(node_object(name, instance, plan, wanted, account.region))
        group.nodes[name] = instance
        account.events.write(
            action="LAUNCH",
            node_group=group.description["nodegroupName"],
            node=name,
            zone=instance.zone,
            instance_type=instance.instance_type,
            market=instance.market,
            reservation=instance.reservation,
        )


def deregister(group: NodeGroup, names: list[str], account: Account) -> None:
    """Remove Node objects and end their instances."""
    for name in names:
        account.kubernetes.delete_node(name)
        terminate(group, [group.nodes.pop(name)], account)


def _words(error: RefusedError, plan: NodePlan) -> str:
    kind = "Capacity Block" if plan.market == BLOCK else "On-Demand"
    return f"Could not launch {kind} Instances. {error.code} - {error} Launching EC2 instance failed."


def node_object(name: str, launched: Instance, plan: NodePlan, wanted: dict[str, Any], region: str) -> dict[str, Any]:
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
                "topology.kubernetes.io/zone": launched.zone,
            },
            "annotations": {DEVICES: json.dumps({key: str(count) for key, count in devices.items() if count})},
        },
        "spec": {
            "providerID": f"aws:///{launched.zone}/{launched.id}",
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
