"""The custom resource's events: have the nodes running before the job that needs them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .log import log
from .nodes import SECONDS_BETWEEN_LOOKS, NodeGroup, State, look, scale

# Left for parking the nodes again when they do not come.
KEPT_MS = 90_000
# Longer than parking takes from its last look at the bucket to its call.
SECONDS_AFTER_SIGN = 10


class WakeError(Exception):
    """Nodes that do not come; the text says why and what to do, and is CloudFormation's reason."""


def on_event(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Return the answer to one event of the provider framework. Raises WakeError."""
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId", "gpu-nodes")}
    # A rollback needs no nodes, and must not fail for want of capacity: the stack would be stuck.
    if event["RequestType"] == "Delete" or (event["RequestType"] == "Update" and _undoing(event["StackId"], clients)):
        return answer
    wanted = event["ResourceProperties"]
    group = NodeGroup(cluster=wanted["ClusterName"], name=wanted["NodegroupName"])
    clients.s3.put_object(Bucket=wanted["Bucket"], Key=wanted["SignKey"], Body=wanted["RunName"].encode())
    clients.sleep(SECONDS_AFTER_SIGN)
    state = look(group, clients)
    if state.size == 0:
        _wake(group, state, int(wanted["Count"]), wanted["InstanceType"], clients)
    return answer


def _wake(group: NodeGroup, state: State, count: int, instance_type: str, clients: Clients) -> None:
    what, started = f"{count} x {instance_type}", clients.now()
    log("waking", nodes=what)
    if not scale(group, count, max(count, state.largest), clients, keep_ms=KEPT_MS):
        raise WakeError(
            f"The parked GPU nodes, {what}, could not be asked for: node group {group.name} is being changed by "
            "somebody else. Deploy again when that has ended."
        )
    refusal = _wait(state.scaling_group, count, started, clients)
    if refusal is None:
        log("awake", nodes=what)
        return
    log("not awake", nodes=what, reason=refusal)
    parked = scale(group, 0, state.largest, clients, keep_ms=0)
    command = f"aws eks update-nodegroup-config --cluster-name {group.cluster} --nodegroup-name {group.name}"
    bill = "parked again" if parked else f"THEY MAY BILL: {command} --scaling-config minSize=0,desiredSize=0"
    raise WakeError(
        f"The parked GPU nodes, {what}, did not start, and are {bill}. Deploy again later, or set another "
        f"capacity.force_token, by which a zone with room is chosen anew. EC2 said: {refusal}"
    )


def _wait(scaling_group: str, count: int, started: datetime, clients: Clients) -> str | None:
    """Return once ``count`` instances run, or why they do not."""
    while (running := _running(scaling_group, clients)) < count:
        if refusal := _refusal(scaling_group, started, clients):
            return refusal
        if clients.remaining_ms() < KEPT_MS:
            return f"nothing; {running} of {count} ran in time"
        clients.sleep(SECONDS_BETWEEN_LOOKS)
    return None


def _running(scaling_group: str, clients: Clients) -> int:
    assert clients.scaling is not None  # the handler makes the client
    said = clients.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[scaling_group])
    instances = [instance for found in said["AutoScalingGroups"] for instance in found["Instances"]]
    return sum(instance["LifecycleState"] == "InService" for instance in instances)


def _refusal(scaling_group: str, since: datetime, clients: Clients) -> str | None:
    """Return EC2's words for the newest launch since then that failed."""
    assert clients.scaling is not None
    said = clients.scaling.describe_scaling_activities(AutoScalingGroupName=scaling_group)
    for activity in said["Activities"]:
        if activity["StatusCode"] == "Failed" and activity["StartTime"] >= since:
            return " ".join(str(activity.get("StatusMessage") or activity["Description"]).split())
    return None


def _undoing(stack_id: str, clients: Clients) -> bool:
    assert clients.stacks is not None
    try:
        (stack,) = clients.stacks.describe_stacks(StackName=stack_id)["Stacks"]
    except (BotoCoreError, ClientError) as error:
        log("the stack's state is unknown: the update is taken for the undoing of one", error=str(error))
        return True
    return bool(stack["StackStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS")
