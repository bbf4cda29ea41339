"""Starts the pull of the training image long before the first pod of Ray wants it."""

from collections.abc import Mapping
from typing import Any

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct, IDependable

from eks_ray_train.kubernetes import ChartManifest
from k8s.image_prefetch import ImagePrefetchChart
from k8s.pods import ON_GPU_NODES, ON_SYSTEM_NODES


class _ImagePrefetch(Construct):
    """Applies a prefetch Job; nothing waits for it. ``objects`` are the Kubernetes objects."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        name: str,
        image: str,
        where: Mapping[str, Any],
        nodes: int,
    ) -> None:
        super().__init__(scope, id)
        chart = ImagePrefetchChart(cdk8s.App(), "ImagePrefetch", name=name, image=image, where=where, nodes=nodes)
        self.manifest = ChartManifest(self, "Job", cluster=cluster, chart=chart)
        self.objects = self.manifest.objects


class GpuImagePrefetch(_ImagePrefetch):
    """The image on the GPU nodes, which are there ``after`` something, while Platform is installed."""

    def __init__(
        self, scope: Construct, id: str, *, cluster: eks.ICluster, image: str, nodes: int, after: IDependable
    ) -> None:
        super().__init__(
            scope, id, cluster=cluster, name="image-prefetch", image=image, where=ON_GPU_NODES, nodes=nodes
        )
        self.manifest.node.add_dependency(after)


class HeadImagePrefetch(_ImagePrefetch):
    """The image on the system nodes, while the GPU nodes start: Ray's head and the submitter run there."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, image: str, nodes: int) -> None:
        super().__init__(
            scope,
            id,
            cluster=cluster,
            name="image-prefetch-head",
            image=image,
            where=ON_SYSTEM_NODES,
            nodes=nodes,
        )
