"""Cluster: the EKS control plane, its system nodes, and the bucket that outlives what runs on them."""

from aws_cdk import CfnOutput
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from eks_ray_train.cluster import EksCluster
from eks_ray_train.results_bucket import ResultsBucket
from eks_ray_train.system_nodes import SystemNodes
from environments.settings import Settings
from stacks.base import EnvironmentStack


class ClusterStack(EnvironmentStack):
    """The control plane, its add-ons, the nodes that they and the Ray head run on, and the results bucket."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, vpc: ec2.IVpc) -> None:
        super().__init__(scope, id, settings=settings, description="EKS control plane, system nodes, results")
        control_plane = EksCluster(
            self,
            "Cluster",
            name=settings.cluster_name,
            kubernetes_version=settings.cluster.kubernetes_version,
            vpc=vpc,
            admin_principals=settings.cluster.admin_principals,
            public_endpoint_cidrs=settings.cluster.public_endpoint_cidrs,
        )
        SystemNodes(
            self,
            "SystemNodes",
            cluster=control_plane.cluster,
            subnets=vpc.private_subnets,
            instance_type=settings.system_nodes.instance,
            count=settings.system_nodes.count,
            kubernetes_version=settings.cluster.kubernetes_version,
            disk_gib=settings.system_nodes.disk_gib,
            ami_release=settings.system_nodes.ami_release,
            after=control_plane.addons_before_nodes,
        )
        self.cluster = control_plane.cluster
        # Here, so that neither the Gpu nor the Training stack takes results along when it is destroyed alone.
        self.results = ResultsBucket(self, "Results", keep=settings.results.keep)
        CfnOutput(
            self, "ResultsBucketName", value=self.results.bucket_name, description="Metrics and results, below runs/"
        )
