"""A cluster placement group, where the environment wants one."""

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct


class PlacementGroup(Construct):
    """Puts instances close together: less latency, and capacity that is harder to get."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        group = ec2.CfnPlacementGroup(self, "Resource", strategy="cluster")
        self.name = group.ref
        self.arn = Stack.of(self).format_arn(service="ec2", resource="placement-group", resource_name=group.ref)


def optional_placement_group(scope: Construct, id: str, *, wanted: bool) -> PlacementGroup | None:
    """A placement group, or None."""
    return PlacementGroup(scope, id) if wanted else None
