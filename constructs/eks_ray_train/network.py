"""The VPC: private nodes, NAT for what must leave, flow logs."""

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from eks_ray_train.acknowledge import HARD_CODED_ZONE, acknowledge


class Network(Construct):
    """A VPC over explicit Availability Zones, so that synthesis needs no lookup.

    ``vpc`` is the VPC; ``private_subnet_by_zone`` maps each zone to the id of its private subnet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        availability_zones: Sequence[str],
        cidr: str,
        nat_gateways: int,
    ) -> None:
        super().__init__(scope, id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=list(availability_zones),
            ip_addresses=ec2.IpAddresses.cidr(cidr),
            nat_gateways=nat_gateways,
            restrict_default_security_group=True,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=24),
                # Pods take addresses of the subnet, and all GPU nodes are in one zone.
                ec2.SubnetConfiguration(name="Private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=19),
            ],
            gateway_endpoints={
                # Datasets and checkpoints do not pay for NAT.
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)
            },
        )
        acknowledge(self.vpc, HARD_CODED_ZONE, reason="The zones are a setting, so that synthesis needs no lookup")
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(
                logs.LogGroup(
                    self,
                    "FlowLogs",
                    retention=logs.RetentionDays.ONE_MONTH,
                    removal_policy=RemovalPolicy.DESTROY,
                )
            ),
        )
        self.private_subnet_by_zone = {
            subnet.availability_zone: subnet.subnet_id for subnet in self.vpc.private_subnets
        }
