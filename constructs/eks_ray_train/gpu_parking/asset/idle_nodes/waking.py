"""The custom resource's events: have the nodes running before the job that needs them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import WakingClients
from .log import log
from .nodes import NodeGroup, look, scale

# Left for parking the nodes again when they do not come.
KEPT_MS = 90_000
SECONDS_BETWEEN_LOOKS = 10
# Longer than parking's one call, which may be under way when the sign is given (handlers.ONCE).
SECONDS_AFTER_SIGN = 20


class WakeError(Exception):
    """Nodes that do not come; the text says why and what to do, and is CloudFormation's reason."""


def on_event(event: Mapping[str, Any], clients: WakingClients) -> dict[str, Any]:
    """Return the answer to one event of the provider framework. Raises WakeError."""
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId", "gpu-nodes")}
    if event["RequestType"] == "Delete" or (event["RequestType"] == "Update" and _undoing(event["StackId"], clients)):
        return answer
    wanted = event["ResourceProperties"]
    group = NodeGroup(cluster=wanted["ClusterName"], name=wanted["NodegroupName"])
    clients.s3.put_object(Bucket=wanted["Bucket"], Key=wanted["SignKey"], Body=wanted["RunName"].encode())
    clients.sleep(SECONDS_AFTER_SIGN)
    if look(group, clients).size == 0:
        _wake(group, int(wanted["Count"]), wanted["InstanceType"], clients)
    return answer


def _wake(group: NodeGroup, count: int, instance_type: str, clients: WakingClients) -> None:
    what, started = f"{count} x {instance_type}", clients.now()
    log("waking", nodes=what)
    while not scale(group, count, count, clients):
        if clients.remaining_ms() < KEPT_MS:
            raise WakeError(
                f"The parked GPU nodes, {what}, could not be asked for: node group {group.name} is being changed by "
                "somebody else. Deploy again when that has ended."
            )
        clients.sleep(SECONDS_BETWEEN_LOOKS)
    try:
        refusal = _wait(group, count, started, clients)
    except (BotoCoreError, ClientError) as error:
        # Nobody would wait for the nodes any more, and they would bill.
        refusal = f"Whether they run could not be read: {error}"
    if refusal is None:
        log("awake", nodes=what)
        return
    log("not awake", nodes=what, reason=refusal)
    raise WakeError(f"The parked GPU nodes, {what}, did not start. {refusal} {_park_again(group, count, clients)}")


def _wait(group: NodeGroup, count: int, started: datetime, clients: WakingClients) -> str | None:
    """Return once ``count`` instances run, or, as a sentence, why they do not."""
    scaling_group = look(group, clients).scaling_group
    while (running := _running(scaling_group, clients)) < count:
        if refusal := _refusal(scaling_group, started, clients):
            return f"EC2 said: {refusal}"
        if clients.remaining_ms() < KEPT_MS:
            return f"Only {running} of {count} ran in time."
        clients.sleep(SECONDS_BETWEEN_LOOKS)
    return None


def _park_again(group: NodeGroup, count: int, clients: WakingClients) -> str:
    """Scale to zero what came, and return what to do as a sentence: first what ends the bill, if that failed."""
    try:
        if scale(group, 0, count, clients):
            return (
                "They are parked again. Deploy again later, or set another capacity.force_token, by which a zone with "
                "room is chosen anew."
            )
        error = "the node group is being changed"
    except (BotoCoreError, ClientError) as refused:
        error = str(refused)
    return (
        f"THEY MAY BILL, for they could not be parked again ({error}). End that, then deploy again: aws eks "
        f"update-nodegroup-config --cluster-name {group.cluster} --nodegroup-name {group.name} --scaling-config "
        f"minSize=0,desiredSize=0 --region {clients.region}"
    )


def _running(scaling_group: str, clients: WakingClients) -> int:
    said = clients.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[scaling_group])
    instances = [instance for found in said["AutoScalingGroups"] for instance in found["Instances"]]
    return sum(instance["LifecycleState"] == "InService" for instance in instances)


def _refusal(scaling_group: str, since: datetime, clients: WakingClients) -> str | None:
    """Return EC2's words for the newest launch since then that failed."""
    said = clients.scaling.describe_scaling_activities(AutoScalingGroupName=scaling_group)
    for activity in said["Activities"]:
        if activity["StatusCode"] == "Failed" and activity["StartTime"] >= since:
            return " ".join(str(activity.get("StatusMessage") or activity["Description"]).split())
    return None


def _undoing(stack_id: str, clients: WakingClients) -> bool:
    """Tell whether the stack is being rolled back; where CloudFormation does not say, take it for that.

    A rollback needs no nodes, and must not fail for want of capacity: the stack would be stuck. An update that is taken
    for a rollback leaves the job waiting for nodes, until its deadline says so.
    """
    try:
        (stack,) = clients.stacks.describe_stacks(StackName=stack_id)["Stacks"]
    except (BotoCoreError, ClientError) as error:
        log("the stack's state is unknown: the update is taken for the undoing of one", error=str(error))
        return True
    return bool(stack["StackStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS")
