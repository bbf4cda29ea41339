"""AWS::EKS::Addon."""

import json
from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored

_NAMES = (
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "metrics-server",
    "vpc-cni",
)


class Addon(ResourceType):
    """An add-on: that it is there counts, nothing of it runs."""

    type = "AWS::EKS::Addon"
    properties = frozenset({"AddonName", "ClusterName", "ConfigurationValues", "Tags"})
    harmless = ignored(
        AddonVersion="which versions there are is not known here",
        ResolveConflicts="nothing of it runs",
        PreserveOnDelete="nothing of it runs",
    )
    replaced_by = frozenset({"AddonName", "ClusterName"})
    updated_by = frozenset({"ConfigurationValues"})

    def create(self, request: Request) -> Made:
        """Create it; CoreDNS never gets healthy in a cluster without nodes."""
        wanted = request.properties
        name = wanted["AddonName"]
        if name not in _NAMES:
            raise RefusedError(
                f"Addon {name} specified is not supported; known here: {_NAMES}", "InvalidParameterException"
            )
        _check_configuration(wanted)
        with self.account.eks.lock:
            cluster = self.account.eks.cluster(wanted["ClusterName"])
            if name in cluster.addons:
                raise RefusedError("Addon already exists.", "ResourceInUseException")
            if name == "coredns" and not any(group.nodes for group in cluster.node_groups.values()):
                raise RefusedError(
                    "coredns: InsufficientNumberOfReplicas: The add-on is unhealthy because no node runs it"
                )
            cluster.addons[name] = dict(wanted)
        return Made(f"{wanted['ClusterName']}|{name}", {"Arn": self._arn(wanted)})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change its configuration."""
        _check_configuration(request.properties)
        self._keep(made, request)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        self._keep(made, request)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        cluster, name = physical_id.split("|")
        self.account.eks.cluster(cluster).addons.pop(name, None)

    def _keep(self, made: Made, request: Request) -> None:
        cluster, name = made.physical_id.split("|")
        self.account.eks.cluster(cluster).addons[name] = dict(request.properties)

    def _arn(self, wanted: dict[str, Any]) -> str:
        return self.account.arn("eks", f"addon/{wanted['ClusterName']}/{wanted['AddonName']}/1")


def _check_configuration(wanted: dict[str, Any]) -> None:
    try:
        json.loads(wanted.get("ConfigurationValues", "{}"))
    except ValueError as error:
        raise RefusedError(f"ConfigurationValue provided in request is not supported: {error}") from error
