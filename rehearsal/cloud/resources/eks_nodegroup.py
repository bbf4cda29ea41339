"""AWS::EKS::Nodegroup."""

import uuid
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.eks_node_group_checks import plan_nodes
from rehearsal.cloud.resources.eks_nodes import deregister, launch, register, terminate


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
        group = NodeGroup(
            description=_description(wanted, arn),
            instance_type=plan.instance.name,
            security_groups=plan.security_groups,
            placement_group=plan.placement_group,
        )
        zones = launch(plan, int(wanted["ScalingConfig"]["DesiredSize"]), self.account)
        physical_id = f"{wanted['ClusterName']}/{name}"
        with eks.lock:
            cluster.node_groups[name] = group
        request.claim(physical_id)
        try:
            register(group, zones, plan, wanted, self.account)
        except RefusedError:
            terminate(plan.instance.name, zones[len(group.nodes) :], self.account)
            raise
        return Made(
            physical_id, {"Arn": arn, "ClusterName": wanted["ClusterName"], "Id": physical_id, "NodegroupName": name}
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Exchange all nodes for such as the group now wants."""
        wanted = {**request.properties, "NodegroupName": made.attributes["NodegroupName"]}
        cluster = self.account.eks.cluster(wanted["ClusterName"])
        plan = plan_nodes(wanted, cluster, self.account)
        group = cluster.node_groups[wanted["NodegroupName"]]
        deregister(group, list(group.nodes), self.account)
        zones = launch(plan, int(wanted["ScalingConfig"]["DesiredSize"]), self.account)
        group.description = _description(wanted, made.attributes["Arn"])
        group.security_groups, group.placement_group = plan.security_groups, plan.placement_group
        register(group, zones, plan, wanted, self.account)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it with its nodes."""
        cluster, name = physical_id.split("/")
        group = self.account.eks.node_group(cluster, name)
        deregister(group, list(group.nodes), self.account)
        with self.account.eks.lock:
            del self.account.eks.cluster(cluster).node_groups[name]


def _description(wanted: dict[str, Any], arn: str) -> dict[str, Any]:
    sizes = wanted["ScalingConfig"]
    return {
        "nodegroupName": wanted["NodegroupName"],
        "nodegroupArn": arn,
        "clusterName": wanted["ClusterName"],
        "createdAt": datetime.now(UTC).timestamp(),
        "status": "ACTIVE",
        "capacityType": wanted.get("CapacityType", "ON_DEMAND"),
        "scalingConfig": {
            "minSize": int(sizes["MinSize"]),
            "maxSize": int(sizes["MaxSize"]),
            "desiredSize": int(sizes["DesiredSize"]),
        },
        "instanceTypes": wanted["InstanceTypes"],
        "subnets": wanted["Subnets"],
        "amiType": wanted["AmiType"],
        "nodeRole": wanted["NodeRole"],
        "labels": wanted.get("Labels", {}),
        "version": wanted.get("Version"),
    }
