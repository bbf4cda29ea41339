"""The nodes of the Ray head, the operators and the cluster's own services."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct, IDependable

from eks_ray_train.instance_types import InstanceType
from eks_ray_train.node_role import NodeRole
from eks_ray_train.node_template import metadata_options, node_repair, root_volume, tag_specifications
from k8s.pods import SYSTEM_NODE


class SystemNodes(Construct):
    """A managed node group labelled ``role=system``, then CoreDNS, which needs nodes to become active."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        subnets: Sequence[ec2.ISubnet],
        instance_type: InstanceType,
        count: int,
        kubernetes_version: str,
        disk_gib: int,
        ami_release: str | None,
        after: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, id)
        launch_template = ec2.CfnLaunchTemplate(
            self,
            "LaunchTemplate",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                block_device_mappings=[root_volume(disk_gib)],
                metadata_options=metadata_options(),
                tag_specifications=tag_specifications(f"{Stack.of(self).stack_name}-{id}"),
            ),
        )
        nodes = eks.CfnNodegroup(
            self,
            "Resource",
            cluster_name=cluster.cluster_name,
            version=kubernetes_version,
            node_role=NodeRole(self, "NodeRole").role_arn,
            subnets=[subnet.subnet_id for subnet in subnets],
            # The NVIDIA AMI makes its runtime the default and fails GPU images on a node without a driver.
            ami_type="AL2023_x86_64_STANDARD",
            instance_types=[instance_type.name],
            release_version=ami_release,
            labels=SYSTEM_NODE,
            scaling_config=eks.CfnNodegroup.ScalingConfigProperty(min_size=count, desired_size=count, max_size=count),
            update_config=eks.CfnNodegroup.UpdateConfigProperty(max_unavailable=1),
            force_update_enabled=False,
            node_repair_config=node_repair(count),
            launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(
                id=launch_template.ref, version=launch_template.attr_latest_version_number
            ),
        )
        nodes.node.add_dependency(*after)
        core_dns = eks.Addon(self, "CoreDns", cluster=cluster, addon_name="coredns")
        core_dns.node.add_dependency(nodes)
