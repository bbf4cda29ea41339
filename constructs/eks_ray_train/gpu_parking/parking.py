"""The schedule that parks idle GPU nodes, and what its function may do."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, arn_of, wildcard_resource
from eks_ray_train.functions import python_function
from eks_ray_train.node_identity import NodeGroupReference
from eks_ray_train.results_bucket import RUNS, ResultsBucket

from .alarm import ParkingAlarm
from .function import ASSET, SIGN_KEY, may_scale

LOOK_EVERY = Duration.minutes(5)


class GpuParking(Construct):
    """Scales the GPU nodes to zero once nothing was written below ``runs/`` in ``results`` for ``idle_minutes``.

    A job writes there at least every two minutes while it runs (training/heartbeat.py). ``notify`` are e-mail addresses
    that are told when this fails.
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
        notify: Sequence[str],
    ) -> None:
        super().__init__(scope, id)
        function = python_function(
            self,
            description="Scales the GPU nodes to zero when nobody trains",
            asset=ASSET,
            handler="idle_nodes.handlers.park",
            timeout=Duration.minutes(2),
            statements=[
                may_scale(nodes),
                iam.PolicyStatement(
                    sid="SeeWrites",
                    actions=["s3:ListBucket"],
                    resources=[results.bucket_arn],
                    conditions={"StringLike": {"s3:prefix": f"{RUNS}/*"}},
                ),
                iam.PolicyStatement(
                    sid="SeeLaunches", actions=["autoscaling:DescribeScalingActivities"], resources=["*"]
                ),
            ],
            wildcards={"*": "It only reads, and takes no resource"},
        )
        for name, value in {
            "CLUSTER_NAME": cluster_name,
            "NODEGROUP_NAME": nodes.name,
            "BUCKET": results.bucket_name,
            "PREFIX": f"{RUNS}/",
            "SIGN_KEY": SIGN_KEY,
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
        if notify:
            ParkingAlarm(self, "Alarm", function=function, emails=notify)


def optional_gpu_parking(
    scope: Construct,
    id: str,
    *,
    cluster_name: str,
    nodes: NodeGroupReference,
    results: ResultsBucket,
    idle_minutes: int | None,
    notify: Sequence[str],
) -> GpuParking | None:
    """Parking, where there is a time after which nodes count as idle."""
    if idle_minutes is None:
        return None
    return GpuParking(
        scope,
        id,
        cluster_name=cluster_name,
        nodes=nodes,
        results=results,
        idle_minutes=idle_minutes,
        notify=notify,
    )
