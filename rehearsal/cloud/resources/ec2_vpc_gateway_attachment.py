"""AWS::EC2::VPCGatewayAttachment."""

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType


class VpcGatewayAttachment(ResourceType):
    """An internet gateway's attachment to a VPC."""

    type = "AWS::EC2::VPCGatewayAttachment"
    properties = frozenset({"InternetGatewayId", "VpcId"})
    replaced_by = frozenset({"InternetGatewayId", "VpcId"})

    def create(self, request: Request) -> Made:
        """Attach it."""
        self.account.client("ec2").attach_internet_gateway(**request.properties)
        return Made(f"IGW|{request.properties['VpcId']}")

    def delete(self, physical_id: str, request: Request) -> None:
        """Detach it; AWS refuses while the VPC has mapped public addresses, moto does not."""
        ec2, vpc_id = self.account.client("ec2"), request.properties["VpcId"]
        gateways = ec2.describe_nat_gateways(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["NatGateways"]
        if left := [gateway["NatGatewayId"] for gateway in gateways if gateway["State"] != "deleted"]:
            raise RefusedError(f"Network {vpc_id} has some mapped public address(es): {left}", "DependencyViolation")
        ec2.detach_internet_gateway(**request.properties)
