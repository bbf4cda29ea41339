"""What EKS knows: moto lacks add-ons, access entries and associations, and its clusters refuse our endpoint."""

import threading
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.node_plans import NodePlan
from rehearsal.cloud.reservations import Instance
from rehearsal.cloud.scaling import ScalingGroup


@dataclass(kw_only=True)
class NodeGroup:
    """A managed node group; ``nodes`` are its instances by the names of their Node objects.

    ``description`` is as DescribeNodegroup returns it, ``scaling`` the Auto Scaling group that launches its instances,
    ``plan`` what the next one will be.
    """

    description: dict[str, Any]
    plan: NodePlan
    scaling: ScalingGroup
    nodes: dict[str, Instance] = field(default_factory=dict)

    def set_sizes(self, sizes: dict[str, int]) -> None:
        """Say how large the group may and shall be."""
        self.description["scalingConfig"] = self.scaling.sizes = sizes


@dataclass(kw_only=True)
class Cluster:
    """A cluster and what belongs to it; descriptions are as DescribeCluster and so on return them."""

    description: dict[str, Any]
    vpc_id: str
    security_group_id: str
    self_managed_addons: bool
    node_groups: dict[str, NodeGroup] = field(default_factory=dict)
    addons: dict[str, dict[str, Any]] = field(default_factory=dict)
    access_entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    associations: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Eks:
    """The clusters of the account, by name. Hold ``lock`` while looking and then changing."""

    clusters: dict[str, Cluster] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def cluster(self, name: str) -> Cluster:
        """Return a cluster; raises RefusedError when there is none of that name."""
        with self.lock:
            if name not in self.clusters:
                raise RefusedError(f"No cluster found for name: {name}.", "ResourceNotFoundException")
            return self.clusters[name]

    def node_group(self, cluster: str, name: str) -> NodeGroup:
        """Return a node group; raises RefusedError when there is none of that name."""
        with self.lock:
            groups = self.cluster(cluster).node_groups
            if name not in groups:
                raise RefusedError(f"No node group found for name: {name}.", "ResourceNotFoundException")
            return groups[name]

    def interfaces_with(self, security_group_id: str) -> list[str]:
        """Return the nodes whose network interfaces have a security group."""
        with self.lock:
            groups = [group for cluster in self.clusters.values() for group in cluster.node_groups.values()]
            return [node for group in groups if security_group_id in group.plan.security_groups for node in group.nodes]

    def nodes_in_placement_group(self, name: str) -> list[str]:
        """Return the nodes in a placement group."""
        with self.lock:
            groups = [group for cluster in self.clusters.values() for group in cluster.node_groups.values()]
            return [node for group in groups if group.plan.placement_group == name for node in group.nodes]
