"""AWS::EC2::NatGateway."""

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class NatGateway(TaggedInEc2):
    """A NAT gateway with an elastic IP address."""

    type = "AWS::EC2::NatGateway"
    properties = frozenset({"AllocationId", "SubnetId", "Tags"})
    replaced_by = frozenset({"AllocationId", "SubnetId"})

    def create(self, request: Request) -> Made:
        """Create it; in moto it is available at once."""
        wanted = request.properties
        made = self.account.client("ec2").create_nat_gateway(
            AllocationId=wanted["AllocationId"],
            SubnetId=wanted["SubnetId"],
            TagSpecifications=tag_specifications("natgateway", wanted),
        )["NatGateway"]
        return Made(made["NatGatewayId"], {"NatGatewayId": made["NatGatewayId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").delete_nat_gateway(NatGatewayId=physical_id)
