"""Why the Gpu stack failed: CloudFormation's events, and what the Auto Scaling group last said."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from ops.account import AWS_ERRORS, explain
from ops.capacity import probe
from ops.deploy.failure_kinds import Kind
from ops.deploy.probe_failure import kind_of
from ops.deploy.stacks import is_missing

NODE_GROUP = "AWS::EKS::Nodegroup"
PROBE = "Custom::GpuCapacityProbe"
_STACK = "AWS::CloudFormation::Stack"
_NO_CAPACITY = re.compile(
    r"Insufficient\w*Capacity|ReservationCapacityExceeded|UnfulfillableCapacity|not have (enough|sufficient)", re.I
)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The first thing that failed; ``said`` is the Auto Scaling group's last error, where there is one."""

    kind: Kind
    reason: str
    zone: str | None = None
    said: str | None = None


def last_operation(cloudformation: Any, stack: str) -> str | None:
    """The id of the event that began the stack's last operation, None where there was none."""
    for event in _events(cloudformation, stack):
        if _begins(event):
            return str(event["EventId"])
    return None


def read_failure(cloudformation: Any, autoscaling: Any, stack: str) -> Failure | None:
    """What failed in the stack's last operation, None where nothing did."""
    events = []
    for event in _events(cloudformation, stack):
        events.append(event)
        if _begins(event):
            break
    failed = [
        event for event in events if event["ResourceStatus"].endswith("_FAILED") and event["ResourceType"] != _STACK
    ]
    # Newest first, so the last one is what failed first; what was cancelled because of it says so.
    first = next((e for e in reversed(failed) if "cancelled" not in e.get("ResourceStatusReason", "").lower()), None)
    if first is None:
        return None
    reason = first.get("ResourceStatusReason", "no reason given")
    if first["ResourceType"] == PROBE:
        return Failure(kind=kind_of(reason), reason=reason)
    if first["ResourceType"] != NODE_GROUP:
        return Failure(kind=Kind.OTHER, reason=f"{first['LogicalResourceId']}: {reason}")
    try:
        activity = _last_failed_activity(autoscaling, _group_name(first["LogicalResourceId"], events))
        said = None if activity is None else activity.get("StatusMessage") or activity["Description"]
    except AWS_ERRORS as error:
        # What the events say is enough to go on with.
        activity, said = None, f"not known: {str(explain(error, autoscaling.meta.region_name)).splitlines()[0]}"
    if not _NO_CAPACITY.search(f"{reason} {said}"):
        return Failure(kind=Kind.OTHER, reason=reason, said=said)
    return Failure(kind=Kind.LAUNCH, reason=reason, said=said, zone=_zone_of(activity) or _zone_chosen(events))


def _events(cloudformation: Any, stack: str) -> Iterator[dict[str, Any]]:
    try:
        for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
            yield from page["StackEvents"]
    except ClientError as error:
        if not is_missing(error):
            raise


def _begins(event: dict[str, Any]) -> bool:
    return event["ResourceType"] == _STACK and event["ResourceStatus"] in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")


def _group_name(logical_id: str, events: list[dict[str, Any]]) -> str | None:
    """The node group's name: its physical id is ``cluster/name``, and is in the events once EKS has accepted it."""
    for event in events:
        if event["LogicalResourceId"] == logical_id and "/" in event.get("PhysicalResourceId", ""):
            return str(event["PhysicalResourceId"]).rpartition("/")[2]
    return None


def _last_failed_activity(autoscaling: Any, node_group: str | None) -> dict[str, Any] | None:
    """The newest launch that failed, of the group that EKS named after the node group and has deleted since."""
    if node_group is None:
        return None
    pages = autoscaling.get_paginator("describe_scaling_activities").paginate(IncludeDeletedGroups=True)
    for page in pages:
        for activity in page["Activities"]:
            own = activity["AutoScalingGroupName"].startswith(f"eks-{node_group}-")
            if own and activity["StatusCode"] in ("Failed", "Cancelled"):
                return dict(activity)
    return None


def _zone_of(activity: dict[str, Any] | None) -> str | None:
    details = json.loads((activity or {}).get("Details") or "{}")
    zone = details.get("Availability Zone")
    return None if zone is None else str(zone)


def _zone_chosen(events: list[dict[str, Any]]) -> str | None:
    for event in events:
        if event["ResourceType"] == PROBE and event.get("PhysicalResourceId"):
            return probe.zone_of(event["PhysicalResourceId"])
    return None
