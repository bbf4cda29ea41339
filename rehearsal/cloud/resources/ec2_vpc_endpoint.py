"""AWS::EC2::VPCEndpoint."""

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class VpcEndpoint(TaggedInEc2):
    """An endpoint of a service inside a VPC."""

    type = "AWS::EC2::VPCEndpoint"
    properties = frozenset({"RouteTableIds", "ServiceName", "Tags", "VpcEndpointType", "VpcId"})
    replaced_by = frozenset({"RouteTableIds", "ServiceName", "VpcEndpointType", "VpcId"})

    def create(self, request: Request) -> Made:
        """Create it."""
        given = {key: value for key, value in request.properties.items() if key != "Tags"}
        made = self.account.client("ec2").create_vpc_endpoint(
            **given, TagSpecifications=tag_specifications("vpc-endpoint", request.properties)
        )["VpcEndpoint"]
        return Made(made["VpcEndpointId"], {"Id": made["VpcEndpointId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[physical_id])
