"""An IAM role for the pods of one Kubernetes service account."""

from aws_cdk import aws_eks as eks
from aws_cdk import aws_eks_v2 as eks_v2
from aws_cdk import aws_iam as iam
from constructs import Construct


class PodIdentity(Construct):
    """Binds ``role`` to a service account through the EKS Pod Identity agent.

    The association alone: eks_v2's ServiceAccount with POD_IDENTITY would install the agent's add-on a second time.
    """

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks_v2.ICluster, namespace: str, service_account: str
    ) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.SessionTagsPrincipal(iam.ServicePrincipal("pods.eks.amazonaws.com")),
            description=f"Pods of {namespace}/{service_account}",
        )
        self.association = eks.CfnPodIdentityAssociation(
            self,
            "Association",
            cluster_name=cluster.cluster_name,
            namespace=namespace,
            service_account=service_account,
            role_arn=self.role.role_arn,
        )
