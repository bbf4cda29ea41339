"""What the launch templates and node groups of all nodes have in common."""

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from eks_ray_train.node_disks import GP3_IOPS, GP3_THROUGHPUT_MIB


def root_volume(gib: int) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    """An encrypted gp3 root volume of Amazon Linux 2023."""
    return ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
        device_name="/dev/xvda",
        ebs=ec2.CfnLaunchTemplate.EbsProperty(
            volume_type="gp3",
            volume_size=gib,
            throughput=GP3_THROUGHPUT_MIB,
            iops=GP3_IOPS,
            encrypted=True,
            delete_on_termination=True,
        ),
    )


def metadata_options() -> ec2.CfnLaunchTemplate.MetadataOptionsProperty:
    """IMDSv2 with one hop: the node's role stays out of the pods' reach."""
    return ec2.CfnLaunchTemplate.MetadataOptionsProperty(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )


def tag_specifications(name: str) -> list[ec2.CfnLaunchTemplate.TagSpecificationProperty]:
    """Names the instances, volumes and interfaces, for a node group's own tags do not reach them."""
    return [
        ec2.CfnLaunchTemplate.TagSpecificationProperty(
            resource_type=resource_type, tags=[{"key": "Name", "value": name}]
        )
        for resource_type in ("instance", "volume", "network-interface")
    ]


def node_repair(count: int) -> eks.CfnNodegroup.NodeRepairConfigProperty:
    """Replaces broken nodes of ``count`` one at a time, and none while more than half of several are broken.

    By counts, for EKS's own limit, a fifth, holds from six nodes on. Where most nodes are ill at once, the cause is no
    machine, and new ones would fall ill too.
    """
    return eks.CfnNodegroup.NodeRepairConfigProperty(
        enabled=True, max_parallel_nodes_repaired_count=1, max_unhealthy_node_threshold_count=max(1, count // 2)
    )
