"""Platform: the Helm charts, and the image for Ray's head."""

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.device_plugins import EfaDevicePlugin, NvidiaDevicePlugin
from eks_ray_train.image_prefetch import HeadImagePrefetch
from eks_ray_train.kuberay import KubeRayOperator
from environments.settings import Settings
from stacks.base import EnvironmentStack


class PlatformStack(EnvironmentStack):
    """The device plugins, the KubeRay operator and the image for the pods that run beside it."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, cluster: eks.ICluster) -> None:
        super().__init__(scope, id, settings=settings, description="Device plugins and the KubeRay operator")
        NvidiaDevicePlugin(self, "NvidiaDevicePlugin", cluster=cluster, version=settings.charts.nvidia_device_plugin)
        EfaDevicePlugin(
            self,
            "EfaDevicePlugin",
            cluster=cluster,
            version=settings.charts.efa_device_plugin,
            region=settings.region,
            instance_type=settings.gpu_nodes.instance_type,
        )
        prefetch = HeadImagePrefetch(
            self, "HeadImagePrefetch", cluster=cluster, image=settings.ray.image, nodes=settings.system_nodes.count
        )
        self.objects = prefetch.objects
        KubeRayOperator(self, "KubeRayOperator", cluster=cluster, version=settings.charts.kuberay_operator)
