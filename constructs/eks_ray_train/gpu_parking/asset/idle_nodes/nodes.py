"""The GPU node group: what it is at, and its size."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from .clients import Clients

# EKS changes a node group's size in these states only.
CHANGEABLE = ("ACTIVE", "DEGRADED")
SECONDS_BETWEEN_LOOKS = 10


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """Which node group: its cluster and its own name."""

    cluster: str
    name: str


@dataclass(frozen=True, kw_only=True)
class State:
    """A node group as EKS describes it; ``size`` nodes are wanted, and it was last ``changed`` then."""

    size: int
    largest: int
    status: str
    changed: datetime
    scaling_group: str


def look(group: NodeGroup, clients: Clients) -> State:
    """Ask EKS for the group's state."""
    said: Mapping[str, Any] = clients.eks.describe_nodegroup(clusterName=group.cluster, nodegroupName=group.name)
    found = said["nodegroup"]
    return State(
        size=found["scalingConfig"]["desiredSize"],
        largest=found["scalingConfig"]["maxSize"],
        status=found["status"],
        changed=max(found["createdAt"], found["modifiedAt"]),
        scaling_group=found["resources"]["autoScalingGroups"][0]["name"],
    )


def scale(group: NodeGroup, size: int, largest: int, clients: Clients, keep_ms: int) -> bool:
    """Ask for ``size`` nodes, again while another change is under way; False where that takes too long.

    ``largest``, at least 1, is what the group may grow to. ``keep_ms`` of the invocation's time are left untouched.
    """
    while True:
        try:
            clients.eks.update_nodegroup_config(
                clusterName=group.cluster,
                nodegroupName=group.name,
                scalingConfig={"minSize": size, "desiredSize": size, "maxSize": largest},
            )
            return True
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceInUseException":
                raise
        if clients.remaining_ms() < keep_ms + SECONDS_BETWEEN_LOOKS * 1000:
            return False
        clients.sleep(SECONDS_BETWEEN_LOOKS)
