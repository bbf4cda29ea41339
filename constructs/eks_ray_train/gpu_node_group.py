"""The EFA-enabled GPU nodes, in the one subnet that the capacity probe chose."""

from collections.abc import Sequence

from aws_cdk import Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.capacity_reservations import ReservationTarget
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.node_config import node_config, user_data
from eks_ray_train.node_role import NodeRole
from eks_ray_train.node_template import metadata_options, node_repair, root_volume, tag_specifications
from eks_ray_train.placement_group import PlacementGroup
from k8s.pods import GPU, GPU_NODE


class GpuNodeGroup(Construct):
    """A managed node group whose instances carry EFA interfaces; ``nodegroup_arn`` changes when it is replaced.

    ``subnet_id`` may be a token. L1 constructs, because the L2 launch template has no network interfaces and the L2
    node group neither the update strategy nor every GPU instance type.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        vpc: ec2.IVpc,
        subnet_id: str,
        instance_type: InstanceType,
        count: int,
        kubernetes_version: str,
        disk_gib: int,
        placement_group: PlacementGroup | None,
        reservations: ReservationTarget | None,
        ami_release: str | None,
        parallel_pull: bool,
    ) -> None:
        super().__init__(scope, id)
        efa_security_group = _efa_security_group(self, vpc)
        block = reservations is not None and reservations.capacity_block
        launch_template = ec2.CfnLaunchTemplate(
            self,
            "LaunchTemplate",
            launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
                network_interfaces=_network_interfaces(
                    instance_type, [cluster.cluster_security_group_id, efa_security_group.security_group_id]
                ),
                block_device_mappings=[root_volume(disk_gib)],
                metadata_options=metadata_options(),
                placement=ec2.CfnLaunchTemplate.PlacementProperty(group_name=placement_group.name)
                if placement_group
                else None,
                capacity_reservation_specification=reservations.specification if reservations else None,
                # EKS wants a Capacity Block's market and type here, and refuses a type in both places.
                instance_market_options=ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(
                    market_type="capacity-block"
                )
                if block
                else None,
                instance_type=instance_type.name if block else None,
                tag_specifications=tag_specifications(f"{Stack.of(self).stack_name}-{id}"),
                user_data=Fn.base64(user_data(node_config(instance_type, parallel_pull=parallel_pull))),
            ),
        )
        nodes = eks.CfnNodegroup(
            self,
            "Resource",
            # No name: changing the type, the subnet or the AMI type replaces the group, and a name would be taken.
            cluster_name=cluster.cluster_name,
            version=kubernetes_version,
            node_role=NodeRole(self, "NodeRole").role_arn,
            subnets=[subnet_id],
            ami_type="AL2023_x86_64_NVIDIA",
            instance_types=None if block else [instance_type.name],
            capacity_type="CAPACITY_BLOCK" if block else "ON_DEMAND",
            release_version=ami_release,
            labels={
                **GPU_NODE,
                # Without it the NVIDIA device plugin's DaemonSet wants no node, and says nothing.
                "nvidia.com/gpu.present": "true",
            },
            taints=[eks.CfnNodegroup.TaintProperty(key=GPU, value="present", effect="NO_SCHEDULE")],
            scaling_config=eks.CfnNodegroup.ScalingConfigProperty(min_size=count, desired_size=count, max_size=count),
            # MINIMAL replaces nodes without extra ones first, which neither the quota nor a reservation would have.
            update_config=eks.CfnNodegroup.UpdateConfigProperty(max_unavailable=1, update_strategy="MINIMAL"),
            # With the workers' disruption budget (k8s/namespace.py): an update fails rather than end a training run.
            force_update_enabled=False,
            node_repair_config=node_repair(count),
            launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(
                id=launch_template.ref, version=launch_template.attr_latest_version_number
            ),
        )
        self.nodegroup_arn = nodes.attr_arn


def _network_interfaces(
    instance_type: InstanceType, security_groups: Sequence[str]
) -> list[ec2.CfnLaunchTemplate.NetworkInterfaceProperty]:
    # With interfaces named, EC2 refuses security groups beside them, and EKS adds none of its own: the cluster's group
    # has to be among them. AssociatePublicIpAddress stays unset.
    return [
        ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
            network_card_index=interface.card,
            device_index=interface.device,
            interface_type=interface.type,
            groups=list(security_groups),
            delete_on_termination=True,
        )
        for interface in instance_type.network_interfaces
    ]


def _efa_security_group(scope: Construct, vpc: ec2.IVpc) -> ec2.SecurityGroup:
    # EFA's traffic is matched by security group ids only, so a rule for 0.0.0.0/0 does not carry it; and CDK drops the
    # self egress silently as long as all outbound is allowed. Other egress comes from the cluster's group.
    group = ec2.SecurityGroup(
        scope,
        "EfaSecurityGroup",
        vpc=vpc,
        description="EFA between GPU nodes",
        allow_all_outbound=False,
    )
    group.add_ingress_rule(group, ec2.Port.all_traffic(), "EFA from the other GPU nodes")
    group.add_egress_rule(group, ec2.Port.all_traffic(), "EFA to the other GPU nodes")
    return group
