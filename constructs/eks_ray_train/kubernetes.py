"""What talks to the cluster through CDK's kubectl handler."""

from collections.abc import Mapping
from typing import Any, cast

import cdk8s
from aws_cdk import CfnResource, Duration
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

# A little more than the 15 minutes of the handler's Lambda. CloudFormation's own limit for an answer that never comes
# is an hour, in which the GPU nodes bill.
_SERVICE_TIMEOUT_SECONDS = 960
# Below those 15 minutes too: were the Lambda ended first, the release would stay pending for ever.
_HELM_TIMEOUT = Duration.minutes(10)


def limit_wait(construct: Construct) -> None:
    """Ends CloudFormation's wait for a manifest, chart or value soon after its handler must have ended."""
    resource = cast("CfnResource", construct.node.find_child("Resource").node.default_child)
    resource.add_property_override("ServiceTimeout", str(_SERVICE_TIMEOUT_SECONDS))


class PinnedHelmChart(eks.HelmChart):
    """A Helm chart of a fixed version that counts as installed only once its pods are ready."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        repository: str,
        chart: str,
        version: str,
        namespace: str,
        values: Mapping[str, Any],
    ) -> None:
        super().__init__(
            scope,
            id,
            cluster=cluster,
            repository=repository,
            chart=chart,
            version=version,
            release=chart,
            namespace=namespace,
            create_namespace=namespace != "kube-system",
            wait=True,
            timeout=_HELM_TIMEOUT,
            values=values,
        )
        limit_wait(self)


class ChartManifest(eks.KubernetesManifest):
    """A chart as one CloudFormation resource, in the stack of ``scope``; ``objects`` are the Kubernetes objects."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, chart: cdk8s.Chart) -> None:
        self.objects: list[dict[str, Any]] = chart.to_json()
        super().__init__(
            scope,
            id,
            cluster=cluster,
            manifest=self.objects,
            # Applied, not created: an object that a try before left behind is no error.
            overwrite=True,
            # Pruning labels every object, and what it would remove here has its own resource already.
            prune=False,
        )
        limit_wait(self)
