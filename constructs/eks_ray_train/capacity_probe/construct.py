"""The custom resource, its function and what the function may do."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import (
    CustomResource,
    Duration,
    RemovalPolicy,
    Stack,
    Token,
)
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, arn_of, spelled, wildcard_resource
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.placement_group import PlacementGroup

from .asset.gpu_capacity.properties import STACK_TAG, check_mode

RESOURCE_TYPE = "Custom::GpuCapacityProbe"
ASSET = Path(__file__).parent / "asset"
TIMEOUT = Duration.minutes(5)


class CapacityProbe(Construct):
    """Picks, while the stack is deployed, the zone in which EC2 has room for a group of instances.

    ``subnets_by_zone`` maps the name of each candidate zone, which must be known at synth, to the id of the subnet to
    use there. In mode ``probe`` the zones are ranked and a capacity reservation in the first that gives one, cancelled
    at once, is the proof; mode ``zone`` takes ``zone`` after checking that the type is offered there. The choice stays
    the same on later deploys; another ``force_token``, never used before, asks for a new one.

    ``availability_zone``, ``subnet_id`` and ``table`` (every zone with the reason why it was not taken) are tokens.
    """

    availability_zone: str
    subnet_id: str
    table: str

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: InstanceType,
        count: int,
        mode: str,
        zone: str | None,
        subnets_by_zone: Mapping[str, str],
        placement_group: PlacementGroup | None,
        force_token: str | None,
    ) -> None:
        super().__init__(scope, id)
        if any(Token.is_unresolved(name) for name in subnets_by_zone):
            raise ValueError("subnets_by_zone has tokens for zone names: give the VPC its availability zones by name")
        if count < 1:
            raise ValueError(f"count is {count}: expected at least 1 instance to find room for")
        check_mode(mode, zone, subnets_by_zone)

        stack_name = Stack.of(self).stack_name
        provider = _provider(self, _function(self, stack_name, placement_group))
        properties: dict[str, object] = {
            "InstanceType": instance_type.name,
            "Count": str(count),
            "VcpusPerInstance": str(instance_type.vcpus),
            "QuotaCode": instance_type.quota_code,
            "QuotaFamilies": list(instance_type.quota_families),
            "Mode": mode,
            "SubnetsByZone": dict(subnets_by_zone),
            "Tags": {STACK_TAG: stack_name},
            # CDK leaves out what is None.
            "Zone": zone,
            "PlacementGroupArn": placement_group.arn if placement_group else None,
            "ForceToken": force_token,
        }
        resource = CustomResource(
            self,
            "Resource",
            service_token=provider.service_token,
            resource_type=RESOURCE_TYPE,
            service_timeout=Duration.minutes(10),  # CloudFormation's own is an hour, for an answer that never comes
            properties=properties,
        )
        self.availability_zone = resource.get_att_string("AvailabilityZone")
        self.subnet_id = resource.get_att_string("SubnetId")
        self.table = resource.get_att_string("Table")


def _function(scope: Construct, stack_name: str, placement_group: PlacementGroup | None) -> lambda_.Function:
    # A failed deploy's reason is CloudFormation's too, each zone's answer included.
    log_group = logs.LogGroup(
        scope, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
    )
    role = _role(scope, "Role", log_group)
    for statement in _statements(Stack.of(scope), stack_name, placement_group):
        role.add_to_policy(statement)
    acknowledge(role, wildcard_resource("*"), reason="These reads of EC2 and Service Quotas take no resource")
    acknowledge(
        role,
        wildcard_resource(spelled(_reservations(Stack.of(scope)), Stack.of(scope))),
        reason="A reservation's id is known only once it is made; each statement asks for the stack's tag instead",
    )
    function = lambda_.Function(
        scope,
        "Function",
        description="Picks the Availability Zone with room for the GPU nodes",
        runtime=lambda_.Runtime.PYTHON_3_13,
        handler="gpu_capacity.handler.handler",
        # Bytecode differs between machines and would change the asset's hash.
        code=lambda_.Code.from_asset(str(ASSET), exclude=["**/__pycache__", "**/*.pyc"]),
        memory_size=256,
        timeout=TIMEOUT,
        log_group=log_group,
        role=role,
    )
    acknowledge(
        function,
        "AwsSolutions-L1",
        reason="Python 3.13 is what the training image and CDK's own Python handlers run as well",
    )
    return function


def _provider(scope: Construct, function: lambda_.Function) -> cr.Provider:
    log_group = logs.LogGroup(
        scope,
        "ProviderLog",
        retention=logs.RetentionDays.ONE_MONTH,
        removal_policy=RemovalPolicy.DESTROY,  # says nothing that the function's own log lacks
    )
    role = _role(scope, "ProviderRole", log_group)
    acknowledge(
        role,
        wildcard_resource(f"{arn_of(function)}:*"),
        reason="The provider framework invokes the function by its versions as well, of which there are none",
    )
    return cr.Provider(scope, "Provider", on_event_handler=function, log_group=log_group, framework_on_event_role=role)


def _role(scope: Construct, id: str, log_group: logs.LogGroup) -> iam.Role:
    """Return a role that may write one log group, where Lambda's managed policy allows all of the account's."""
    role = iam.Role(scope, id, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group.grant_write(role)
    return role


def _statements(stack: Stack, stack_name: str, placement_group: PlacementGroup | None) -> list[iam.PolicyStatement]:
    reservations = _reservations(stack)
    made_for_stack = {f"aws:RequestTag/{STACK_TAG}": stack_name}
    in_placement_group = (
        [
            # Whether EC2 asks for the group's permission too is documented nowhere that we found.
            iam.PolicyStatement(
                sid="ReserveInPlacementGroup",
                actions=["ec2:CreateCapacityReservation"],
                resources=[placement_group.arn],
            )
        ]
        if placement_group
        else []
    )
    return [
        *in_placement_group,
        iam.PolicyStatement(
            sid="Read",
            actions=[
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeCapacityReservations",
                "ec2:DescribeInstanceTypeOfferings",
                "ec2:DescribeInstances",
                "ec2:GetSpotPlacementScores",
                "servicequotas:GetAWSDefaultServiceQuota",
                "servicequotas:GetServiceQuota",
            ],
            resources=["*"],
        ),
        iam.PolicyStatement(
            sid="Reserve",
            actions=["ec2:CreateCapacityReservation"],
            resources=[reservations],
            conditions={"StringEquals": made_for_stack},
        ),
        iam.PolicyStatement(
            sid="TagWhileReserving",
            actions=["ec2:CreateTags"],
            resources=[reservations],
            conditions={"StringEquals": made_for_stack | {"ec2:CreateAction": "CreateCapacityReservation"}},
        ),
        iam.PolicyStatement(
            sid="CancelOwn",
            actions=["ec2:CancelCapacityReservation"],
            resources=[reservations],
            conditions={"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": stack_name}},
        ),
    ]


def _reservations(stack: Stack) -> str:
    return stack.format_arn(service="ec2", resource="capacity-reservation", resource_name="*")
