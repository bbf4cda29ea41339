"""Training: the Ray namespace, the check of the nodes, the RayCluster and the RayJob."""

from collections.abc import Mapping

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.gpu_parking.waking import GpuWaking
from eks_ray_train.node_identity import read_node_group
from eks_ray_train.ray_workload import FabricCheck, RayNamespace, RayTraining
from eks_ray_train.results_bucket import ResultsBucket
from eks_ray_train.training_job import head_resources, training_arguments, worker_resources, worker_transport
from environments.settings import Settings
from stacks.base import EnvironmentStack


class TrainingStack(EnvironmentStack):
    """What runs on the cluster."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        cluster: eks.ICluster,
        results: ResultsBucket,
        code: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id, settings=settings, description="RayCluster and training job")
        namespace = RayNamespace(self, "RayNamespace", cluster=cluster, bucket=results)
        nodes = read_node_group(self, cluster_name=settings.cluster_name)
        fabric_check = FabricCheck(
            self,
            "FabricCheck",
            cluster=cluster,
            image=settings.ray.image,
            nodes=settings.gpu_nodes.count,
            nodes_id=nodes.identity,
            instance_type=settings.gpu_nodes.instance,
            ami_release=settings.gpu_nodes.ami_release,
        )
        training = RayTraining(
            self,
            "RayTraining",
            cluster=cluster,
            image=settings.ray.image,
            ray_version=settings.ray.version,
            region=settings.region,
            head=head_resources(settings),
            worker=worker_resources(settings),
            workers=settings.gpu_nodes.count,
            shared_memory_gib=settings.ray.shared_memory_gib,
            transport=worker_transport(settings),
            code=code,
            arguments=training_arguments(settings),
            attempt=settings.training.attempt,
            results=results,
            deadline_seconds=settings.training.deadline_hours * 3600,
        )
        waking = GpuWaking(
            self,
            "GpuWaking",
            cluster_name=settings.cluster_name,
            nodes=nodes,
            results=results,
            instance_type=settings.gpu_nodes.instance,
            count=settings.gpu_nodes.count,
            idle_minutes=settings.cost.idle_minutes,
            for_run=training.run_name,
            for_check=fabric_check.spec_hash,
        )
        fabric_check.node.add_dependency(namespace, waking)
        training.node.add_dependency(fabric_check)
        self.objects = [*namespace.objects, *fabric_check.objects, *training.objects]
