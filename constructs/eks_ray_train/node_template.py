"""The root volume and metadata options that every node has."""

from aws_cdk import aws_ec2 as ec2

# The image unpacks to about 20 GB, mostly in parallel: gp3's base 125 MiB/s would take minutes more for the same price
# class.
_THROUGHPUT_MIB = 500
_IOPS = 6000


def root_volume(gib: int) -> ec2.CfnLaunchTemplate.BlockDeviceMappingProperty:
    """An encrypted gp3 root volume of Amazon Linux 2023."""
    return ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
        device_name="/dev/xvda",
        ebs=ec2.CfnLaunchTemplate.EbsProperty(
            volume_type="gp3",
            volume_size=gib,
            throughput=_THROUGHPUT_MIB,
            iops=_IOPS,
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
