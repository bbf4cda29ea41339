"""AWS::EC2::SubnetRouteTableAssociation."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType


class SubnetRouteTableAssociation(ResourceType):
    """Which route table a subnet uses."""

    type = "AWS::EC2::SubnetRouteTableAssociation"
    properties = frozenset({"RouteTableId", "SubnetId"})
    replaced_by = frozenset({"RouteTableId", "SubnetId"})

    def create(self, request: Request) -> Made:
        """Create it."""
        made = self.account.client("ec2").associate_route_table(**request.properties)
        return Made(made["AssociationId"], {"Id": made["AssociationId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").disassociate_route_table(AssociationId=physical_id)
