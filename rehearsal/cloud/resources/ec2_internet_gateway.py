"""AWS::EC2::InternetGateway."""

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class InternetGateway(TaggedInEc2):
    """An internet gateway."""

    type = "AWS::EC2::InternetGateway"
    properties = frozenset({"Tags"})

    def create(self, request: Request) -> Made:
        """Create it, not attached yet."""
        made = self.account.client("ec2").create_internet_gateway(
            TagSpecifications=tag_specifications("internet-gateway", request.properties)
        )["InternetGateway"]
        return Made(made["InternetGatewayId"], {"InternetGatewayId": made["InternetGatewayId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while it is attached."""
        self.account.client("ec2").delete_internet_gateway(InternetGatewayId=physical_id)
