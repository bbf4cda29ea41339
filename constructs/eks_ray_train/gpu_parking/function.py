"""What the functions of parking and waking share."""

from pathlib import Path

from aws_cdk import aws_iam as iam

from eks_ray_train.node_identity import NodeGroupReference
from eks_ray_train.results_bucket import RUNS

ASSET = Path(__file__).parent / "asset"
# Below RUNS, so that parking sees it; no run's name begins with a dot.
SIGN_KEY = f"{RUNS}/.deployed"


def may_scale(nodes: NodeGroupReference) -> iam.PolicyStatement:
    """To see and to change the size of the GPU node group, and of no other."""
    return iam.PolicyStatement(
        sid="SizeOfTheGpuNodes",
        actions=["eks:DescribeNodegroup", "eks:UpdateNodegroupConfig"],
        resources=[nodes.arn],
    )
