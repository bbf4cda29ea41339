"""Gpu: where there is capacity, the nodes there, and the image on them."""

from collections.abc import Mapping

from aws_cdk import CfnOutput
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.capacity_probe import CapacityProbe
from eks_ray_train.capacity_reservations import reservation_target
from eks_ray_train.gpu_node_group import GpuNodeGroup
from eks_ray_train.gpu_parking.parking import optional_gpu_parking
from eks_ray_train.image_prefetch import GpuImagePrefetch
from eks_ray_train.node_identity import NodeGroupReference, publish_node_group
from eks_ray_train.placement_group import optional_placement_group
from eks_ray_train.results_bucket import ResultsBucket
from environments.settings import Settings
from stacks.base import EnvironmentStack


class GpuStack(EnvironmentStack):
    """The capacity probe, the node group in the zone that it chose, and what scales it to zero when nobody trains."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        vpc: ec2.IVpc,
        private_subnet_by_zone: Mapping[str, str],
        cluster: eks.ICluster,
        results: ResultsBucket,
    ) -> None:
        super().__init__(scope, id, settings=settings, description="EFA-enabled GPU nodes in one Availability Zone")
        gpu = settings.gpu_nodes
        placement_group = optional_placement_group(self, "PlacementGroup", wanted=gpu.placement_group)
        search = settings.capacity.search
        reservations = reservation_target(self, "CapacityReservations", search=search)
        probe = CapacityProbe(
            self,
            "CapacityProbe",
            instance_type=gpu.instance,
            count=gpu.count,
            search=search,
            subnets_by_zone=private_subnet_by_zone,
            placement_group=placement_group,
            reservations=reservations,
        )
        nodes = GpuNodeGroup(
            self,
            "Nodes",
            cluster=cluster,
            vpc=vpc,
            subnet_id=probe.subnet_id,
            instance_type=gpu.instance,
            count=gpu.count,
            kubernetes_version=settings.cluster.kubernetes_version,
            disk_gib=gpu.disk_gib,
            placement_group=placement_group,
            reservations=reservations,
            ami_release=gpu.ami_release,
            parallel_pull=gpu.parallel_pull,
        )
        prefetch = GpuImagePrefetch(
            self, "ImagePrefetch", cluster=cluster, image=settings.ray.image, nodes=gpu.count, after=nodes
        )
        optional_gpu_parking(
            self,
            "GpuParking",
            cluster_name=settings.cluster_name,
            nodes=NodeGroupReference(nodes.nodegroup_arn),
            results=results,
            idle_minutes=settings.cost.idle_minutes,
            notify=settings.cost.notify,
        )
        publish_node_group(self, "NodeIdentity", cluster_name=settings.cluster_name, nodegroup_arn=nodes.nodegroup_arn)
        self.objects = prefetch.objects
        CfnOutput(self, "AvailabilityZone", value=probe.availability_zone, description="The zone of the GPU nodes")
        CfnOutput(self, "CapacityReservation", value=probe.reservation_id, description="What the GPU nodes start in")
        CfnOutput(self, "CapacityTable", value=probe.table, description="Every zone that was asked, and the answer")
