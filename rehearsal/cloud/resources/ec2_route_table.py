"""AWS::EC2::RouteTable."""

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class RouteTable(TaggedInEc2):
    """A route table."""

    type = "AWS::EC2::RouteTable"
    properties = frozenset({"Tags", "VpcId"})
    replaced_by = frozenset({"VpcId"})

    def create(self, request: Request) -> Made:
        """Create it."""
        wanted = request.properties
        made = self.account.client("ec2").create_route_table(
            VpcId=wanted["VpcId"], TagSpecifications=tag_specifications("route-table", wanted)
        )["RouteTable"]
        return Made(made["RouteTableId"], {"RouteTableId": made["RouteTableId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while a subnet uses it."""
        self.account.client("ec2").delete_route_table(RouteTableId=physical_id)
