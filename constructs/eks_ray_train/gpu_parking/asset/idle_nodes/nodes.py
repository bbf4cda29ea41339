"""The GPU node group: what it is at, its size, and what its Auto Scaling group did."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from .clients import Clients

# In others the group is on its way, or broken for good. A DEGRADED one was reported scaled to zero, by what call is not
# known (aws/containers-roadmap#2326).
CHANGEABLE = ("ACTIVE", "DEGRADED")
# How a launch ends without an instance.
FAILED = ("Failed", "Cancelled")


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """Which node group: its cluster and its own name."""

    cluster: str
    name: str


@dataclass(frozen=True, kw_only=True)
class State:
    """A node group as EKS describes it; ``size`` nodes are wanted, of at most ``largest``.

    ``scaling_group`` is the name of its Auto Scaling group, empty until there is one. EKS's modifiedAt is not here: it
    moves every few minutes by itself.
    """

    size: int
    largest: int
    status: str
    created: datetime
    scaling_group: str


def look(group: NodeGroup, clients: Clients) -> State:
    """Ask EKS for the group's state."""
    said: Mapping[str, Any] = clients.eks.describe_nodegroup(clusterName=group.cluster, nodegroupName=group.name)
    found = said["nodegroup"]
    scaling_groups = found.get("resources", {}).get("autoScalingGroups", [])
    return State(
        size=found["scalingConfig"]["desiredSize"],
        largest=found["scalingConfig"]["maxSize"],
        status=found["status"],
        created=found["createdAt"],
        scaling_group=scaling_groups[0]["name"] if scaling_groups else "",
    )


def newest_launch(scaling_group: str, clients: Clients) -> datetime | None:
    """Return when the last node was launched, as far as Auto Scaling still knows. Failed launches do not count."""
    for activity in launches(scaling_group, clients):
        if activity["StatusCode"] not in FAILED:
            started: datetime = activity["StartTime"]
            return started
    return None


def launches(scaling_group: str, clients: Clients) -> list[dict[str, Any]]:
    """Return the newest launches of a group, newest first: the first page is enough for what is asked here."""
    found = clients.scaling.describe_scaling_activities(AutoScalingGroupName=scaling_group)["Activities"]
    return [activity for activity in found if activity["Description"].startswith("Launching")]


def scale(group: NodeGroup, size: int, largest: int, clients: Clients) -> bool:
    """Ask for ``size`` of at most ``largest`` nodes, which is 1 or more; False while the group is being changed."""
    try:
        clients.eks.update_nodegroup_config(
            clusterName=group.cluster,
            nodegroupName=group.name,
            scalingConfig={"minSize": size, "desiredSize": size, "maxSize": largest},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceInUseException":
            raise
        return False
    return True
