"""The GPU node group: what it is at, and its size."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from .clients import Clients

# In others the group is on its way, or broken for good. Whether EKS takes a new size of a DEGRADED group was not seen.
CHANGEABLE = ("ACTIVE", "DEGRADED")


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
