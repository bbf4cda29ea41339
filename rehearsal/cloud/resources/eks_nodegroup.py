"""AWS::EKS::Nodegroup."""

import uuid
from typing import Any

from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.eks_node_group_checks import plan_nodes, scaling_config
from rehearsal.cloud.resources.eks_nodes import deregister, scale
from rehearsal.cloud.resources.tags import as_map

# Changes of these alone leave the nodes that there are.
_RESIZING: dict[str, Any] = {"ScalingConfig": None, "Tags": None}


class EksNodeGroup(ResourceType):
    """A managed node group: instances that EC2 has, and a Node object for each."""

    type = "AWS::EKS::Nodegroup"
    properties = frozenset(
        {
            "AmiType",
            "CapacityType",
            "ClusterName",
            "DiskSize",
            "InstanceTypes",
            "Labels",
            "LaunchTemplate",
            "NodeRole",
            "NodegroupName",
            "ScalingConfig",
            "Subnets",
            "Tags",
            "Taints",
            "Version",
        }
    )
    harmless = ignored(
        ForceUpdateEnabled="nothing here has a disruption budget",
        NodeRepairConfig="nothing here breaks",
        ReleaseVersion="which AMI releases there are is not known here",
        UpdateConfig="all nodes are exchanged at once",
    )
    replaced_by = frozenset(
        {"AmiType", "CapacityType", "ClusterName", "DiskSize", "InstanceTypes", "NodeRole", "NodegroupName", "Subnets"}
    )
    updated_by = frozenset({"Labels", "LaunchTemplate", "ScalingConfig", "Taints", "Version"})

    def create(self, request: Request) -> Made:
        """Create it; the group is made only if its nodes would join."""
        wanted = {**request.properties, "NodegroupName": request.name("NodegroupName", 63)}
        name, eks = wanted["NodegroupName"], self.account.eks
        cluster = eks.cluster(wanted["ClusterName"])
        if name in cluster.node_groups:
            raise RefusedError(f"NodeGroup already exists with name {name}", "ResourceInUseException")
        plan = plan_nodes(wanted, cluster, self.account)
        arn = self.account.arn("eks", f"nodegroup/{wanted['ClusterName']}/{name}/{uuid.uuid4()}")
        sizes, now = scaling_config(wanted), self.account.capacity.now().timestamp()
        scaling = self.account.scaling.create(
            self.account.arn("autoscaling", "autoScalingGroup:"), wanted["ClusterName"], name, sizes
        )
        description = {
            **_description(wanted),
            "nodegroupArn": arn,
            "createdAt": now,
            "status": "CREATING",
            "health": {"issues": []},
            "resources": {"autoScalingGroups": [{"name": scaling.name}]},
        }
        group = NodeGroup(description=description, plan=plan, scaling=scaling)
        group.set_sizes(sizes)
        physical_id = f"{wanted['ClusterName']}/{name}"
        with eks.lock:
            cluster.node_groups[name] = group
        request.claim(physical_id)
        scale(group, sizes["desiredSize"], self.account)
        return Made(
            physical_id, {"Arn": arn, "ClusterName": wanted["ClusterName"], "Id": physical_id, "NodegroupName": name}
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the size, or exchange all nodes for such as the group now wants.

        Sizes that the template leaves as they were stay as they are now, for they may have been changed since.
        """
        wanted = {**request.properties, "NodegroupName": made.attributes["NodegroupName"]}
        cluster = self.account.eks.cluster(wanted["ClusterName"])
        plan = plan_nodes(wanted, cluster, self.account)
        group = cluster.node_groups[wanted["NodegroupName"]]
        group.description.update(_description(wanted), status="UPDATING")
        group.plan = plan
        if old["ScalingConfig"] != wanted["ScalingConfig"]:
            group.set_sizes(scaling_config(wanted))
        if {**old, **_RESIZING} != {**request.properties, **_RESIZING}:
            deregister(group, list(group.nodes), self.account)
        scale(group, group.description["scalingConfig"]["desiredSize"], self.account)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        group = self.account.eks.node_group(*made.physical_id.split("/"))
        group.description["tags"] = as_map(request.properties.get("Tags"))

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it with its nodes."""
        cluster, name = physical_id.split("/")
        group = self.account.eks.node_group(cluster, name)
        deregister(group, list(group.nodes), self.account)
        with self.account.eks.lock:
            del self.account.eks.cluster(cluster).node_groups[name]
        with self.account.scaling.lock:
            group.scaling.deleted = True


def _description(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what of DescribeNodegroup's answer follows from the properties."""
    return {
        "nodegroupName": wanted["NodegroupName"],
        "clusterName": wanted["ClusterName"],
        "capacityType": wanted.get("CapacityType", "ON_DEMAND"),
        "instanceTypes": wanted.get("InstanceTypes", []),
        "subnets": wanted["Subnets"],
        "amiType": wanted["AmiType"],
        "nodeRole": wanted["NodeRole"],
        "labels": wanted.get("Labels", {}),
        "version": wanted.get("Version"),
        "tags": as_map(wanted.get("Tags")),
    }
