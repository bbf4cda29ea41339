"""The custom resource that wakes the GPU nodes, and what its function may do."""

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from eks_ray_train.functions import provider_of, python_function
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.node_identity import NodeGroupReference
from eks_ray_train.results_bucket import ResultsBucket

from .function import ASSET, SIGN_KEY, may_scale


class GpuWaking(Construct):
    """Has ``count`` GPU nodes running when ``for_run`` or ``for_check``, which need them, are not what they were."""

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
        for_run: str,
        for_check: str,
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
                may_scale(nodes),
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
            wildcards={"*": "These only read, and take no resource"},
        )
        CustomResource(
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
                "RunName": for_run,
                "FabricCheck": for_check,
                # So that nodes that nobody would wake any more are back when parking is switched off.
                "Idle": "stay" if idle_minutes is None else "go",
            },
        )
