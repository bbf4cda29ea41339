"""Starts the pull of the training image as soon as the GPU nodes are there."""

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct, IDependable

from eks_ray_train.kubernetes import ChartManifest
from k8s.image_prefetch import ImagePrefetchChart


class ImagePrefetch(Construct):
    """Applies the prefetch Job; nothing waits for it. ``objects`` are the Kubernetes objects."""

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster, image: str, nodes: int, after: IDependable
    ) -> None:
        super().__init__(scope, id)
        chart = ImagePrefetchChart(cdk8s.App(), "ImagePrefetch", image=image, nodes=nodes)
        manifest = ChartManifest(self, "Job", cluster=cluster, chart=chart)
        manifest.node.add_dependency(after)
        self.objects = manifest.objects
