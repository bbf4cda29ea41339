"""What the GPU nodes are launched into: a group of reservations, one reservation, a Capacity Block, or none."""

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_resourcegroups as resource_groups
from constructs import Construct

from eks_ray_train.capacity_probe import Search


@dataclass(frozen=True, kw_only=True)
class ReservationTarget:
    """Where instances are launched; one of the two is set.

    With a group, instances that find no room in it start On-Demand, so launches go on when all its reservations have
    ended. With a reservation's id they fail. A Capacity Block is a market of its own, which the launch template and
    the node group have to name, so that it is one must be known at synth.
    """

    group_arn: str | None = None
    reservation_id: str | None = None
    capacity_block: bool = False

    def __post_init__(self) -> None:
        """Refuse a target that names nothing, which EC2 takes for On-Demand, or both."""
        if bool(self.group_arn) == bool(self.reservation_id):
            raise ValueError("a reservation target has the ARN of a group or the id of a reservation, and not both")

    @property
    def specification(self) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty:
        """The launch template's part."""
        return ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty(
            capacity_reservation_target=ec2.CfnLaunchTemplate.CapacityReservationTargetProperty(
                capacity_reservation_resource_group_arn=self.group_arn, capacity_reservation_id=self.reservation_id
            )
        )


class CapacityReservationGroup(Construct):
    """A resource group for capacity reservations, empty until the capacity probe adds some.

    Its name is the stack's and the construct's, for names are unique in an account and region.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        group = resource_groups.CfnGroup(
            self,
            "Resource",
            name=f"{Stack.of(self).stack_name}-{id}",
            description="Capacity reservations that the GPU nodes are launched into",
            configuration=[
                resource_groups.CfnGroup.ConfigurationItemProperty(type="AWS::EC2::CapacityReservationPool"),
                resource_groups.CfnGroup.ConfigurationItemProperty(
                    type="AWS::ResourceGroups::Generic",
                    parameters=[
                        resource_groups.CfnGroup.ConfigurationParameterProperty(
                            name="allowed-resource-types", values=["AWS::EC2::CapacityReservation"]
                        )
                    ],
                ),
            ],
        )
        self.arn = group.attr_arn


def reservation_target(scope: Construct, id: str, *, search: Search) -> ReservationTarget | None:
    """The target that goes with how capacity is looked for, or None: then nodes start wherever there is room."""
    if search.mode == "hold":
        return ReservationTarget(group_arn=CapacityReservationGroup(scope, id).arn)
    if search.mode == "reservation":
        return ReservationTarget(
            reservation_id=search.reservation_id, capacity_block=search.reservation_type == "capacity-block"
        )
    return None
