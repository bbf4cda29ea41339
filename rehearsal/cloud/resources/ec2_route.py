"""AWS::EC2::Route."""

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType


class Route(ResourceType):
    """A route to a gateway."""

    type = "AWS::EC2::Route"
    properties = frozenset({"DestinationCidrBlock", "GatewayId", "NatGatewayId", "RouteTableId"})
    replaced_by = frozenset({"DestinationCidrBlock", "GatewayId", "NatGatewayId", "RouteTableId"})

    def create(self, request: Request) -> Made:
        """Create it; AWS refuses a gateway that is not attached to the route table's VPC, moto takes it."""
        ec2, wanted = self.account.client("ec2"), request.properties
        tables = ec2.describe_route_tables(RouteTableIds=[wanted["RouteTableId"]])["RouteTables"]
        if gateway := wanted.get("GatewayId"):
            found = ec2.describe_internet_gateways(InternetGatewayIds=[gateway])["InternetGateways"][0]
            if tables[0]["VpcId"] not in [attachment["VpcId"] for attachment in found["Attachments"]]:
                raise RefusedError(
                    f"route table {wanted['RouteTableId']} and network gateway {gateway} belong to different networks",
                    "InvalidParameterValue",
                )
        ec2.create_route(**wanted)
        return Made(f"{wanted['RouteTableId']}|{wanted['DestinationCidrBlock']}")

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        table, destination = physical_id.split("|")
        self.account.client("ec2").delete_route(RouteTableId=table, DestinationCidrBlock=destination)
