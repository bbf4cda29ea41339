"""Everything in the Ray namespace, in the order in which it may exist."""

from collections.abc import Mapping, Sequence
from typing import Any

import cdk8s
from aws_cdk import CfnOutput, Duration
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from eks_ray_train.instance_types import InstanceType
from eks_ray_train.kuberay import OPERATOR_NAMESPACE
from eks_ray_train.kubernetes import ChartManifest, limit_wait
from eks_ray_train.pod_identity import PodIdentity
from eks_ray_train.results_bucket import RUNS, ResultsBucket, allow_runs
from k8s.fabric_check import FabricCheckChart
from k8s.namespace import NamespaceChart
from k8s.network_policies import NetworkPolicyChart
from k8s.pods import Resources
from k8s.ray_cluster import RayClusterChart
from k8s.ray_job import RayJobChart

NAMESPACE = "ray-train"
SERVICE_ACCOUNT = "ray"
# A plugin that fails to load makes NCCL use sockets without an error; a network named by NCCL_NET makes it fail
# instead. And huge pages, which a node may not have, break fork() in data loaders.
FAIL_CLOSED = {"NCCL_NET": "Libfabric", "FI_EFA_USE_HUGE_PAGE": "0"}


class RayNamespace(Construct):
    """The namespace, its network policies, and the identity of its pods, which may use ``bucket``."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, bucket: ResultsBucket) -> None:
        super().__init__(scope, id)
        app = cdk8s.App()
        namespace = ChartManifest(
            self,
            "Namespace",
            cluster=cluster,
            chart=NamespaceChart(app, "Namespace", namespace=NAMESPACE, service_account=SERVICE_ACCOUNT),
        )
        policies = ChartManifest(
            self,
            "NetworkPolicies",
            cluster=cluster,
            chart=NetworkPolicyChart(
                app, "NetworkPolicies", namespace=NAMESPACE, operator_namespace=OPERATOR_NAMESPACE
            ),
        )
        policies.node.add_dependency(namespace)
        identity = PodIdentity(self, "Identity", cluster=cluster, namespace=NAMESPACE, service_account=SERVICE_ACCOUNT)
        allow_runs(identity.role, bucket)
        self.objects = [*namespace.objects, *policies.objects]


class FabricCheck(Construct):
    """Waits until every GPU node has shown its GPUs, driver and EFA interfaces to a pod.

    The construct ids carry ``spec_hash``, the hash of the check: when a changed check fails, the rollback deletes its
    Job.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        image: str,
        nodes: int,
        nodes_id: str,
        instance_type: InstanceType,
        ami_release: str | None,
    ) -> None:
        super().__init__(scope, id)
        chart = FabricCheckChart(
            cdk8s.App(),
            "FabricCheck",
            namespace=NAMESPACE,
            image=image,
            nodes=nodes,
            nodes_id=nodes_id,
            gpus=instance_type.gpus,
            efa_interfaces=instance_type.efa_interfaces,
            ami_release=ami_release,
        )
        job = ChartManifest(self, f"Job-{chart.spec_hash}", cluster=cluster, chart=chart)
        complete = eks.KubernetesObjectValue(
            self,
            f"Complete-{chart.spec_hash}",
            cluster=cluster,
            object_type="job",
            object_name=chart.job_name,
            object_namespace=NAMESPACE,
            # Not .status.succeeded, which is there after the first pod.
            json_path='.status.conditions[?(@.type=="Complete")].status',
            # CDK's loop looks at its clock only between calls; the Lambda that it runs in has 15 minutes.
            timeout=Duration.minutes(13),
        )
        limit_wait(complete)
        complete.node.add_dependency(job)
        self.spec_hash = chart.spec_hash
        self.objects = job.objects


class RayTraining(Construct):
    """The standing RayCluster and the RayJob, whose name is ``run_name``.

    Their construct ids carry the hashes of what they hold: CloudFormation makes the new one, then deletes the old.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        image: str,
        ray_version: str,
        region: str,
        head: Resources,
        worker: Resources,
        workers: int,
        shared_memory_gib: int,
        transport: Mapping[str, str],
        code: Mapping[str, str],
        arguments: Mapping[str, str],
        attempt: int,
        results: ResultsBucket,
        deadline_seconds: int,
    ) -> None:
        super().__init__(scope, id)
        app = cdk8s.App()
        environment = {"AWS_REGION": region}
        cluster_chart = RayClusterChart(
            app,
            "RayCluster",
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            image=image,
            ray_version=ray_version,
            head=head,
            worker=worker,
            workers=workers,
            shared_memory_gib=shared_memory_gib,
            environment=environment,
            transport={**FAIL_CLOSED, **transport},
        )
        ray_cluster = ChartManifest(self, cluster_chart.cluster_name, cluster=cluster, chart=cluster_chart)
        job_chart = RayJobChart(
            app,
            "RayJob",
            namespace=NAMESPACE,
            ray_cluster_name=cluster_chart.cluster_name,
            image=image,
            code=code,
            arguments=arguments,
            attempt=attempt,
            environment=environment,
            results_uri=results.s3_url_for_object(RUNS),
            deadline_seconds=deadline_seconds,
        )
        ray_job = ChartManifest(self, job_chart.run_name, cluster=cluster, chart=job_chart)
        ray_job.node.add_dependency(ray_cluster)
        self.objects: Sequence[Mapping[str, Any]] = [*ray_cluster.objects, *ray_job.objects]
        self.run_name = job_chart.run_name
        CfnOutput(self, "RunName", value=job_chart.run_name, description="The RayJob, and the folder of its results")
