"""The custom resource's events: have the nodes running before the job that needs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import WakingClients
from .log import log
from .nodes import FAILED, NodeGroup, State, launches, look, scale

# Left for nodes to come once they are asked for, and for parking them again when they do not.
TO_COME_MS = 300_000
KEPT_MS = 90_000
# Left for the answer; one call of EKS may take half a minute.
TO_ANSWER_MS = 60_000
SECONDS_BETWEEN_LOOKS = 15
# Longer than parking's one call, which may be under way when the sign is given (handlers.ONCE).
SECONDS_AFTER_SIGN = 20
# EC2 may refuse a launch and have room a minute later: Auto Scaling tries again, and is left this many looks to.
LOOKS_DESPITE_REFUSAL = 16


class WakeError(Exception):
    """Nodes that do not come; the text says why and what to do, and is CloudFormation's reason."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """``count`` running nodes of a group."""

    group: NodeGroup
    count: int
    instance_type: str

    def __str__(self) -> str:
        return f"{self.count} x {self.instance_type}"


def on_event(event: Mapping[str, Any], clients: WakingClients) -> dict[str, Any]:
    """Return the answer to one event of the provider framework. Raises WakeError."""
    answer = {"PhysicalResourceId": event.get("PhysicalResourceId", "gpu-nodes")}
    if event["RequestType"] == "Delete" or (event["RequestType"] == "Update" and _undoing(event["StackId"], clients)):
        return answer
    given = event["ResourceProperties"]
    _sign(given, clients)
    clients.sleep(SECONDS_AFTER_SIGN)
    wanted = Wanted(
        group=NodeGroup(cluster=given["ClusterName"], name=given["NodegroupName"]),
        count=int(given["Count"]),
        instance_type=given["InstanceType"],
    )
    if _settled(wanted, clients).size < wanted.count:
        _wake(wanted, clients)
        _sign(given, clients)  # that took a while, and the job is still to come
    elif refusal := _wait(wanted, clients.now(), clients):
        raise WakeError(f"The GPU nodes, {wanted}, do not all run. {refusal} Deploy again when they do.")
    return answer


def _sign(given: Mapping[str, str], clients: WakingClients) -> None:
    """Have parking see that a job is about to come."""
    clients.s3.put_object(Bucket=given["Bucket"], Key=given["SignKey"], Body=given["RunName"].encode())


def _wake(wanted: Wanted, clients: WakingClients) -> None:
    started = clients.now()
    log("waking", nodes=str(wanted))
    _wait_for_room(wanted, clients)
    try:
        while not scale(wanted.group, wanted.count, wanted.count, clients):
            _pause(wanted, clients)
        refusal = _wait(wanted, started, clients)
    except BotoCoreError as error:
        # EKS may have taken a call whose answer was lost: nodes that nobody waits for would bill.
        refusal = f"Whether they run could not be read: {error}"
    except ClientError as error:
        if error.operation_name == "UpdateNodegroupConfig":
            raise
        refusal = f"Whether they run could not be read: {error}"
    if refusal is None:
        log("awake", nodes=str(wanted))
        return
    log("not awake", nodes=str(wanted), reason=refusal)
    raise WakeError(f"The parked GPU nodes, {wanted}, did not start. {refusal} {_park_again(wanted, clients)}")


def _settled(wanted: Wanted, clients: WakingClients) -> State:
    """Return the group's state once no update is under way: until then it may name the size from before."""
    while (state := look(wanted.group, clients)).status == "UPDATING":
        _pause(wanted, clients)
    return state


def _wait_for_room(wanted: Wanted, clients: WakingClients) -> None:
    """Let nodes go that are being parked, for which EKS takes up to a quarter of an hour.

    They count against the quota, and the job would begin on machines that are about to end.
    """
    while (state := look(wanted.group, clients)).size == 0 and _instances(state.scaling_group, clients):
        _pause(wanted, clients)


def _pause(wanted: Wanted, clients: WakingClients) -> None:
    if clients.remaining_ms() < TO_COME_MS:
        raise WakeError(
            f"The GPU nodes, {wanted}, could not be asked for in time: node group {wanted.group.name} is being "
            "changed, or its nodes are still going. Deploy again when that has ended."
        )
    clients.sleep(SECONDS_BETWEEN_LOOKS)


def _wait(wanted: Wanted, started: datetime, clients: WakingClients) -> str | None:
    """Return once all nodes run, or, as a sentence, why they do not."""
    scaling_group, looks = look(wanted.group, clients).scaling_group, 0
    while (states := _instances(scaling_group, clients)).count("InService") < wanted.count:
        looks += 1
        refusal = _refusal(scaling_group, started, clients)
        # An instance that is on its way has been launched after all.
        if refusal and looks >= LOOKS_DESPITE_REFUSAL and len(states) < wanted.count:
            return f"EC2 said: {refusal}"
        if clients.remaining_ms() < KEPT_MS:
            return f"Only {states.count('InService')} of {wanted.count} ran in time."
        clients.sleep(SECONDS_BETWEEN_LOOKS)
    return None


def _park_again(wanted: Wanted, clients: WakingClients) -> str:
    """Scale to zero what came, and return what to do as a sentence: first what ends the bill, if that failed."""
    group = wanted.group
    try:
        while not (parked := scale(group, 0, wanted.count, clients)):
            if clients.remaining_ms() < TO_ANSWER_MS:
                break
            clients.sleep(SECONDS_BETWEEN_LOOKS)
        error = "the node group is being changed"
    except (BotoCoreError, ClientError) as refused:
        parked, error = False, str(refused)
    if parked:
        return (
            "They are parked again. Deploy again later, or set another capacity.force_token, by which a zone with room "
            "is chosen anew."
        )
    return (
        f"THEY MAY BILL, for they could not be parked again ({error}). End that, then deploy again: aws eks "
        f"update-nodegroup-config --cluster-name {group.cluster} --nodegroup-name {group.name} --scaling-config "
        f"minSize=0,desiredSize=0 --region {clients.region}"
    )


def _instances(scaling_group: str, clients: WakingClients) -> list[str]:
    """Return the lifecycle states of the group's instances."""
    said = clients.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[scaling_group])
    return [instance["LifecycleState"] for found in said["AutoScalingGroups"] for instance in found["Instances"]]


def _refusal(scaling_group: str, since: datetime, clients: WakingClients) -> str | None:
    """Return EC2's words for the newest launch since then that failed."""
    for activity in launches(scaling_group, clients):
        if activity["StatusCode"] in FAILED and activity["StartTime"] >= since:
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
