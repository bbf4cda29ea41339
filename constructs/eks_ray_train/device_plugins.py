"""The DaemonSets that make GPUs and EFA interfaces allocatable to pods."""

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.ecr_registries import eks_registry
from eks_ray_train.kubernetes import PinnedHelmChart
from k8s.pods import GPU_NODE, GPU_TOLERATION


class NvidiaDevicePlugin(Construct):
    """Makes ``nvidia.com/gpu`` allocatable on the GPU nodes, which carry the label ``nvidia.com/gpu.present``."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, version: str) -> None:
        super().__init__(scope, id)
        PinnedHelmChart(
            self,
            "Chart",
            cluster=cluster,
            repository="https://nvidia.github.io/k8s-device-plugin",
            chart="nvidia-device-plugin",
            version=version,
            namespace="kube-system",
            # The chart's own affinity, to the label, stays beside the selector.
            values={"nodeSelector": GPU_NODE, "tolerations": [GPU_TOLERATION]},
        )


class EfaDevicePlugin(Construct):
    """Makes ``vpc.amazonaws.com/efa`` allocatable on the GPU nodes alone: on a node without EFA it exits."""

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster, version: str, region: str, instance_type: str
    ) -> None:
        super().__init__(scope, id)
        PinnedHelmChart(
            self,
            "Chart",
            cluster=cluster,
            repository="https://aws.github.io/eks-charts",
            chart="aws-efa-k8s-device-plugin",
            version=version,
            namespace="kube-system",
            values={
                # The chart's own registry is that of us-west-2, and its own tolerations leave our taint out.
                "image": {"repository": f"{eks_registry(region)}/eks/aws-efa-k8s-device-plugin"},
                "nodeSelector": GPU_NODE,
                "tolerations": [GPU_TOLERATION],
                # A type that the chart's list lacks would mean no pod and no event.
                "supportedInstanceLabels": {"values": [instance_type]},
            },
        )
