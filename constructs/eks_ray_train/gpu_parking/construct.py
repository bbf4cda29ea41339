"""The schedule that parks the GPU nodes, the custom resource that wakes them, and what their functions may do."""

from pathlib import Path

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, arn_of, wildcard_resource
from eks_ray_train.functions import provider_of, python_function
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.node_identity import NodeGroupReference
from eks_ray_train.results_bucket import RUNS, ResultsBucket

ASSET = Path(__file__).parent / "asset"
LOOK_EVERY = Duration.minutes(5)
# Below RUNS, so that parking sees it; no run's name begins with a dot.
SIGN_KEY = f"{RUNS}/.deployed"


class GpuParking(Construct):
    """Scales the GPU nodes to zero once nothing was written below ``runs/`` in ``results`` for ``idle_minutes``.

    A job writes there at least every two minutes while it runs (training/heartbeat.py).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        nodes: NodeGroupReference,
        results: ResultsBucket,
        idle_minutes: int,
    ) -> None:
        super().__init__(scope, id)
        function = python_function(
            self,
            description="Scales the GPU nodes to zero when nobody trains",
            asset=ASSET,
            handler="idle_nodes.handlers.park",
            timeout=Duration.minutes(2),
            statements=[
                _size(nodes),
                iam.PolicyStatement(
                    sid="SeeWrites",
                    actions=["s3:ListBucket"],
                    resources=[results.bucket_arn],
                    conditions={"StringLike": {"s3:prefix": f"{RUNS}/*"}},
                ),
            ],
        )
        for name, value in {
            "CLUSTER_NAME": cluster_name,
            "NODEGROUP_NAME": nodes.name,
            "BUCKET": results.bucket_name,
            "PREFIX": f"{RUNS}/",
            "IDLE_MINUTES": str(idle_minutes),
        }.items():
            function.add_environment(name, value)
        target_role = iam.Role(self, "ScheduleRole", assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com"))
        acknowledge(
            target_role,
            wildcard_resource(f"{arn_of(function)}:*"),
            reason="CDK lets a schedule invoke a function's versions as well, of which there are none",
        )
        scheduler.Schedule(
            self,
            "Schedule",
            description="Looks whether anybody trains",
            schedule=scheduler.ScheduleExpression.rate(LOOK_EVERY),
            target=targets.LambdaInvoke(
                function,
                role=target_role,
                input=scheduler.ScheduleTargetInput.from_object({"at": scheduler.ContextAttribute.scheduled_time}),
                # The next look comes soon enough.
                retry_attempts=0,
            ),
        )


class GpuWaking(Construct):
    """Has ``count`` GPU nodes running when ``run_name`` is another run than before; there unless they were parked."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        nodes: NodeGroupReference,
        results: ResultsBucket,
        instance_type: InstanceType,
        count: int,
        idle_minutes: int | None,
        run_name: str,
    ) -> None:
        super().__init__(scope, id)
        stack = Stack.of(self)
        function = python_function(
            self,
            description="Starts parked GPU nodes for the next job",
            asset=ASSET,
            handler="idle_nodes.handlers.wake",
            timeout=Duration.minutes(14),
            statements=[
                _size(nodes),
                iam.PolicyStatement(
                    sid="SeeLaunches",
                    actions=["autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities"],
                    resources=["*"],
                ),
                iam.PolicyStatement(
                    sid="Sign", actions=["s3:PutObject"], resources=[results.arn_for_objects(SIGN_KEY)]
                ),
                iam.PolicyStatement(
                    sid="ReadOwnState", actions=["cloudformation:DescribeStacks"], resources=[stack.stack_id]
                ),
            ],
        )
        acknowledge(
            self.node.find_child("Role"), wildcard_resource("*"), reason="These only read, and take no resource"
        )
        self.resource = CustomResource(
            self,
            "Resource",
            service_token=provider_of(self, function).service_token,
            resource_type="Custom::GpuNodesAwake",
            service_timeout=Duration.minutes(15),
            properties={
                "ClusterName": cluster_name,
                "NodegroupName": nodes.name,
                "Bucket": results.bucket_name,
                "SignKey": SIGN_KEY,
                "InstanceType": instance_type.name,
                "Count": str(count),
                "RunName": run_name,
                # So that nodes that nobody would wake any more are back when parking is switched off.
                "IdleMinutes": "never" if idle_minutes is None else str(idle_minutes),
            },
        )


def _size(nodes: NodeGroupReference) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="SizeOfTheGpuNodes",
        actions=["eks:DescribeNodegroup", "eks:UpdateNodegroupConfig"],
        resources=[nodes.arn],
    )


def optional_gpu_parking(
    scope: Construct,
    id: str,
    *,
    cluster_name: str,
    nodes: NodeGroupReference,
    results: ResultsBucket,
    idle_minutes: int | None,
) -> GpuParking | None:
    """Parking, where there is a time after which nodes count as idle."""
    if idle_minutes is None:
        return None
    return GpuParking(scope, id, cluster_name=cluster_name, nodes=nodes, results=results, idle_minutes=idle_minutes)
