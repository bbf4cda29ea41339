"""The IAM role of a node."""

from aws_cdk import aws_iam as iam
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, managed_policy

_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly")


class NodeRole(iam.Role):
    """What the kubelet, the VPC CNI and image pulls need; pods get theirs from Pod Identity."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(
            scope,
            id,
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in _POLICIES],
        )
        acknowledge(
            self,
            *map(managed_policy, _POLICIES),
            reason="EKS documents these managed policies as what a node needs, and keeps them up to date",
        )
