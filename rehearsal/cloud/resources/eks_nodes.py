"""The nodes of a node group: their capacity in EC2, and their Node objects in Kubernetes."""

import uuid
from collections import Counter
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.launches import launch
from rehearsal.cloud.node_plans import NodePlan
from rehearsal.cloud.reservations import BLOCK, Instance
from rehearsal.cloud.resources.eks_node_object import node_object


def scale(group: NodeGroup, size: int, account: Account, *, partly: bool = False) -> None:
    """Bring a group to a size: end the nodes that are too many, or launch those that are missing.

    A launch that EC2 refuses is the group's health issue, and the group is DEGRADED, or CREATE_FAILED if it is new.
    ``partly`` keeps what was launched before; else none of it stays, and RefusedError says so in EKS's words.
    """
    deregister(group, list(group.nodes)[size:], account)
    instances, refusal = _launch(group, size - len(group.nodes), account)
    if refusal:
        issue = {"code": "AsgInstanceLaunchFailures", "message": refusal, "resourceIds": [group.scaling.name]}
        _fail(group, [issue])
    if refusal and not partly:
        _terminate(group, instances, account)
        raise RefusedError(
            'Resource handler returned message: "[Issue(Code=AsgInstanceLaunchFailures, '
            f"Message={refusal}, ResourceIds=[{group.scaling.name}])] (Service: null, Status Code: 0, Request "
            'ID: null)" (HandlerErrorCode: GeneralServiceException)'
        )
    _register(group, instances, account)
    if instances and not refusal:
        group.description.update(health={"issues": []})
    if not refusal:
        # A size of zero heals nothing.
        group.description["status"] = "DEGRADED" if group.description["health"]["issues"] else "ACTIVE"


def deregister(group: NodeGroup, names: list[str], account: Account) -> None:
    """Remove Node objects and end their instances."""
    for name in names:
        account.kubernetes.delete_node(name)
        _terminate(group, [group.nodes.pop(name)], account)


def _launch(group: NodeGroup, count: int, account: Account) -> tuple[list[Instance], str]:
    """Start ``count`` instances, spread over the zones, as the group's Auto Scaling group does.

    Return those that started, and why the next one did not, empty where all did.
    """
    plan, taken = group.plan, list[Instance]()
    while len(taken) < count:
        placed = Counter(instance.zone for instance in taken)
        refusals = []
        for zone, subnet in sorted(plan.subnets.items(), key=lambda item: placed[item[0]]):
            try:
                instance = launch(plan.launch_in(zone), account)
            except RefusedError as error:
                refusals.append(_words(error, plan))
                group.scaling.failed(refusals[-1], zone, subnet)
                continue
            group.scaling.launched(instance.id, zone, subnet)
            taken.append(instance)
            break
        else:
            return taken, refusals[0]
    return taken, ""


def _register(group: NodeGroup, instances: list[Instance], account: Account) -> None:
    """Let instances join; where the Kubernetes API refuses one, those that have not joined end."""
    try:
        for instance in instances:
            _join(group, instance, account)
    except RefusedError:
        joined = [instance.id for instance in group.nodes.values()]
        _terminate(group, [item for item in instances if item.id not in joined], account)
        _fail(group, [])
        raise


def _join(group: NodeGroup, instance: Instance, account: Account) -> None:
    """Make a Node object for a new instance, and say from which reservation it was launched."""
    token = uuid.uuid4()
    name = f"ip-10-{token.bytes[0]}-{token.bytes[1]}-{token.bytes[2]}.{account.region}.compute.internal"
    account.kubernetes.create_node(node_object(name, instance, group, account.region))
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


def _terminate(group: NodeGroup, instances: list[Instance], account: Account) -> None:
    for instance in instances:
        account.capacity.terminate(instance.id)
        group.scaling.terminated(instance.id, instance.zone)


def _fail(group: NodeGroup, issues: list[dict[str, Any]]) -> None:
    new = group.description["status"] == "CREATING"
    group.description.update(status="CREATE_FAILED" if new else "DEGRADED", health={"issues": issues})


def _words(error: RefusedError, plan: NodePlan) -> str:
    kind = "Capacity Block" if plan.market == BLOCK else "On-Demand"
    return f"Could not launch {kind} Instances. {error.code} - {error} Launching EC2 instance failed."
