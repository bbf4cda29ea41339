"""What the probe's function may do: what its mode does, and no more."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from eks_ray_train.placement_group import PlacementGroup

from .asset.gpu_capacity.properties import STACK_TAG

_SURVEY = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstances",
    "ec2:GetSpotPlacementScores",
    "servicequotas:GetAWSDefaultServiceQuota",
    "servicequotas:GetServiceQuota",
)
_ONE_ZONE = (
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstances",
    "servicequotas:GetAWSDefaultServiceQuota",
    "servicequotas:GetServiceQuota",
)
# Every mode looks for what an earlier mode left. Reads take no condition on tags.
_READS = {
    "hold": (*_SURVEY, "ec2:GetGroupsForCapacityReservation"),
    "probe": _SURVEY,
    "offerings": _SURVEY,
    "zone": _ONE_ZONE,
    "reservation": ("ec2:DescribeInstances",),
}


def reservation_arns(stack: Stack) -> str:
    """The ARN of every capacity reservation of the stack's account and region."""
    return stack.format_arn(service="ec2", resource="capacity-reservation", resource_name="*")


def statements(
    stack: Stack, *, mode: str, placement_group: PlacementGroup | None, group_arn: str | None
) -> list[iam.PolicyStatement]:
    """The statements for a mode; only reservations with the stack's tag can be made, changed and cancelled."""
    own = {"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": stack.stack_name}}
    reads = sorted({"ec2:DescribeCapacityReservations", *_READS[mode]})
    allowed = [
        iam.PolicyStatement(sid="Read", actions=reads, resources=["*"]),
        iam.PolicyStatement(sid="ReadOwnState", actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]),
        iam.PolicyStatement(
            sid="CancelOwn",
            actions=["ec2:CancelCapacityReservation"],
            resources=[reservation_arns(stack)],
            conditions=own,
        ),
    ]
    if mode in ("hold", "probe"):
        allowed += _making(stack, placement_group)
    if group_arn is not None:
        allowed += [
            iam.PolicyStatement(
                sid="MoveOwnEndDate",
                actions=["ec2:ModifyCapacityReservation"],
                resources=[reservation_arns(stack)],
                conditions=own,
            ),
            iam.PolicyStatement(sid="AddToOwnGroup", actions=["resource-groups:GroupResources"], resources=[group_arn]),
        ]
    return allowed


def _making(stack: Stack, placement_group: PlacementGroup | None) -> list[iam.PolicyStatement]:
    made_for_stack = {f"aws:RequestTag/{STACK_TAG}": stack.stack_name}
    making = [
        iam.PolicyStatement(
            sid="Reserve",
            actions=["ec2:CreateCapacityReservation"],
            resources=[reservation_arns(stack)],
            conditions={"StringEquals": made_for_stack},
        ),
        iam.PolicyStatement(
            sid="TagWhileReserving",
            actions=["ec2:CreateTags"],
            resources=[reservation_arns(stack)],
            conditions={"StringEquals": made_for_stack | {"ec2:CreateAction": "CreateCapacityReservation"}},
        ),
    ]
    if placement_group is not None:
        making.append(
            # Whether EC2 asks for the group's permission too is documented nowhere that we found.
            iam.PolicyStatement(
                sid="ReserveInPlacementGroup",
                actions=["ec2:CreateCapacityReservation"],
                resources=[placement_group.arn],
            )
        )
    return making
