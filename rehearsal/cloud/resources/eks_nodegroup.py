"""AWS::EKS::Nodegroup."""

import uuid
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.eks_node_group_checks import NodePlan, plan_nodes
from rehearsal.cloud.resources.eks_nodes import deregister, launch, register, terminate
from rehearsal.cloud.resources.tags import as_map


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
        description = _description(wanted, arn)
        scaling = self.account.scaling.create(
            self.account.arn("autoscaling", "autoScalingGroup:"),
            wanted["ClusterName"],
            name,
            description["scalingConfig"],
        )
        group = NodeGroup(
            description=description,
            instance_type=plan.instance.name,
            security_groups=plan.security_groups,
            placement_group=plan.placement_group,
            scaling=scaling,
        )
        description["resources"] = {"autoScalingGroups": [{"name": scaling.name}]}
        physical_id = f"{wanted['ClusterName']}/{name}"
        with eks.lock:
            cluster.node_groups[name] = group
        request.claim(physical_id)
        self._start(group, plan, int(wanted["ScalingConfig"]["DesiredSize"]), wanted)
        return Made(
            physical_id, {"Arn": arn, "ClusterName": wanted["ClusterName"], "Id": physical_id, "NodegroupName": name}
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the size, or exchange all nodes for such as the group now wants."""
        wanted = {**request.properties, "NodegroupName": made.attributes["NodegroupName"]}
        cluster = self.account.eks.cluster(wanted["ClusterName"])
        plan = plan_nodes(wanted, cluster, self.account)
        group = cluster.node_groups[wanted["NodegroupName"]]
        size, names = int(wanted["ScalingConfig"]["DesiredSize"]), list(group.nodes)
        only_size = {**old, "ScalingConfig": None, "Tags": None} == {
            **request.properties,
            "ScalingConfig": None,
            "Tags": None,
        }
        deregister(group, names[size:] if only_size else names, self.account)
        group.description.update(_description(wanted, made.attributes["Arn"]))
        group.scaling.sizes = group.description["scalingConfig"]
        group.security_groups, group.placement_group = plan.security_groups, plan.placement_group
        self._start(group, plan, size - len(group.nodes), wanted)
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

    def _start(self, group: NodeGroup, plan: NodePlan, count: int, wanted: dict[str, Any]) -> None:
        """Launch instances and let them join."""
        instances = launch(group, plan, count, self.account)
        try:
            register(group, instances, plan, wanted, self.account)
        except RefusedError:
            joined = [instance.id for instance in group.nodes.values()]
            terminate(group, [item for item in instances if item.id not in joined], self.account)
            raise
        group.description.update(status="ACTIVE", health={"issues": []})


def _description(wanted: dict[str, Any], arn: str) -> dict[str, Any]:
    sizes = wanted["ScalingConfig"]
    return {
        "nodegroupName": wanted["NodegroupName"],
        "nodegroupArn": arn,
        "clusterName": wanted["ClusterName"],
        "createdAt": datetime.now(UTC).timestamp(),
        "status": "CREATING",
        "health": {"issues": []},
        "capacityType": wanted.get("CapacityType", "ON_DEMAND"),
        "scalingConfig": {
            "minSize": int(sizes["MinSize"]),
            "maxSize": int(sizes["MaxSize"]),
            "desiredSize": int(sizes["DesiredSize"]),
        },
        "instanceTypes": wanted.get("InstanceTypes", []),
        "subnets": wanted["Subnets"],
        "amiType": wanted["AmiType"],
        "nodeRole": wanted["NodeRole"],
        "labels": wanted.get("Labels", {}),
        "version": wanted.get("Version"),
        "tags": as_map(wanted.get("Tags")),
    }
