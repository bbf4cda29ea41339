"""The operator that turns RayCluster and RayJob objects into pods."""

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.kubernetes import PinnedHelmChart
from k8s.pods import SYSTEM_NODE

OPERATOR_NAMESPACE = "kuberay-system"


class KubeRayOperator(Construct):
    """The kuberay-operator chart, on the system nodes. Helm installs its CRDs once, and never upgrades them."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, version: str) -> None:
        super().__init__(scope, id)
        PinnedHelmChart(
            self,
            "Chart",
            cluster=cluster,
            repository="https://ray-project.github.io/kuberay-helm/",
            chart="kuberay-operator",
            version=version,
            namespace=OPERATOR_NAMESPACE,
            values={
                "nodeSelector": SYSTEM_NODE,
                # Workers bring their own, with memory enough (k8s/ray_cluster.py).
                "env": [{"name": "ENABLE_INIT_CONTAINER_INJECTION", "value": "false"}],
            },
        )
