"""The custom resource, its function and what the function may do."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import CustomResource, Duration, Stack, Token
from aws_cdk import aws_lambda as lambda_
from aws_cdk import custom_resources as cr
from constructs import Construct

from eks_ray_train.acknowledge import spelled
from eks_ray_train.capacity_reservations import ReservationTarget
from eks_ray_train.functions import provider_of, python_function
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.placement_group import PlacementGroup

from .asset.gpu_capacity.properties import STACK_TAG, check_mode
from .asset.gpu_capacity.sweeper import SWEEPER_TYPE
from .policy import reservation_arns, statements
from .search import Search

RESOURCE_TYPE = "Custom::GpuCapacityProbe"
ASSET = Path(__file__).parent / "asset"
TIMEOUT = Duration.minutes(5)


class CapacityProbe(Construct):
    """Picks, while the stack is deployed, the zone in which EC2 has room for a group of instances.

    ``subnets_by_zone`` maps the name of each candidate zone, which must be known at synth, to the id of the subnet to
    use there. The mode says how the zone is found:

    - ``hold``: the zones are ranked, and a capacity reservation in the first that gives one is left to the nodes. It is
      a member of the group in ``reservations``, which the launch template must target, before the probe answers.
    - ``probe``: the same, and the reservation is cancelled at once.
    - ``offerings``: the best by what can be read.
    - ``zone``: the zone that is named, once offering and quota are checked.
    - ``reservation``: the zone of a reservation that exists, once it is checked.

    The choice stays the same on later deploys, unless the instance type, the candidates, the placement group, the
    reservation or ``force_token`` change. Nodes that run already need no room then, and only another ``force_token``
    moves them out of a zone that is still a candidate. A larger ``count`` is asked for in the zone that was chosen.

    ``availability_zone``, ``subnet_id``, ``reservation_id`` (``none`` where nothing is held) and ``table`` (every zone
    with the reason why it was not taken) are tokens.
    """

    availability_zone: str
    subnet_id: str
    reservation_id: str
    table: str

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: InstanceType,
        count: int,
        search: Search,
        subnets_by_zone: Mapping[str, str],
        placement_group: PlacementGroup | None,
        reservations: ReservationTarget | None,
    ) -> None:
        super().__init__(scope, id)
        if any(Token.is_unresolved(name) for name in subnets_by_zone):
            raise ValueError("subnets_by_zone has tokens for zone names: give the VPC its availability zones by name")
        if count < 1:
            raise ValueError(f"count is {count}: expected at least 1 instance to find room for")
        subnets, group_arn = search.candidates(subnets_by_zone), reservations.group_arn if reservations else None
        mode = {
            "Mode": search.mode,
            "HoldMinutes": None if search.hold_minutes is None else str(search.hold_minutes),
            "GroupArn": group_arn,
            "Zone": search.zone,
            "ReservationId": search.reservation_id,
            "ReservationType": search.reservation_type,
        }
        check_mode(mode, subnets, search.exclude_zones)

        stack = Stack.of(self)
        provider = provider_of(self, _function(self, search.mode, placement_group, group_arn))
        tags = {"Tags": {STACK_TAG: stack.stack_name}}
        sweeper = _resource(self, "Sweeper", provider, SWEEPER_TYPE, tags)
        properties: dict[str, object] = {
            "InstanceType": instance_type.name,
            "Count": str(count),
            "VcpusPerInstance": str(instance_type.vcpus),
            "QuotaCode": instance_type.quota_code,
            "QuotaFamilies": list(instance_type.quota_families),
            "SubnetsByZone": subnets,
            # CDK leaves out what is None.
            "ExcludeZones": sorted(search.exclude_zones) or None,
            "PlacementGroupArn": placement_group.arn if placement_group else None,
            "ForceToken": search.force_token,
        }
        resource = _resource(self, "Resource", provider, RESOURCE_TYPE, tags | mode | properties)
        # Made before it and deleted after it, even when the probe's function died while the probe was made.
        resource.node.add_dependency(sweeper)
        self.availability_zone = resource.get_att_string("AvailabilityZone")
        self.subnet_id = resource.get_att_string("SubnetId")
        self.reservation_id = resource.get_att_string("ReservationId")
        self.table = resource.get_att_string("Table")


def _resource(
    scope: Construct, id: str, provider: cr.Provider, resource_type: str, properties: Mapping[str, object]
) -> CustomResource:
    return CustomResource(
        scope,
        id,
        service_token=provider.service_token,
        resource_type=resource_type,
        service_timeout=Duration.minutes(10),  # CloudFormation's own is an hour, for an answer that never comes
        properties=properties,
    )


def _function(
    scope: Construct, mode: str, placement_group: PlacementGroup | None, group_arn: str | None
) -> lambda_.Function:
    # A failed deploy's reason is CloudFormation's too, each zone's answer included.
    stack = Stack.of(scope)
    return python_function(
        scope,
        description="Picks the Availability Zone with room for the GPU nodes",
        asset=ASSET,
        handler="gpu_capacity.handler.handler",
        timeout=TIMEOUT,
        statements=statements(stack, mode=mode, placement_group=placement_group, group_arn=group_arn),
        wildcards={
            "*": "These only read, and nearly all of them take no resource",
            spelled(reservation_arns(stack), stack): "A reservation's id is known only once it is made; each statement "
            "asks for the stack's tag instead",
        },
    )
