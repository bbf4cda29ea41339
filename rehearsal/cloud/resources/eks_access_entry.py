"""AWS::EKS::AccessEntry."""

import re
from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType

_PRINCIPAL = re.compile(r"arn:aws:iam::\d{12}:(role|user)/.+")
_POLICIES = {
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
}
_INVALID = "InvalidParameterException"


class AccessEntry(ResourceType):
    """What an IAM principal may do in a cluster."""

    type = "AWS::EKS::AccessEntry"
    properties = frozenset({"AccessPolicies", "ClusterName", "KubernetesGroups", "PrincipalArn", "Tags", "Type"})
    replaced_by = frozenset({"ClusterName", "PrincipalArn", "Type"})
    updated_by = frozenset({"AccessPolicies", "KubernetesGroups"})

    def create(self, request: Request) -> Made:
        """Create it; refused for a principal that has one."""
        wanted, principal = request.properties, request.properties["PrincipalArn"]
        _check(wanted)
        with self.account.eks.lock:
            cluster = self.account.eks.cluster(wanted["ClusterName"])
            if cluster.description["accessConfig"].get("authenticationMode") == "CONFIG_MAP":
                raise RefusedError("The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]")
            if principal in cluster.access_entries:
                message = "The specified access entry resource is already in use on this cluster."
                raise RefusedError(f"{message} Principal: {principal}", "ResourceInUseException")
            cluster.access_entries[principal] = dict(wanted)
        role = principal.rsplit("/", 1)[-1]
        arn = self.account.arn("eks", f"access-entry/{wanted['ClusterName']}/role/{self.account.id}/{role}/1")
        return Made(f"{principal}|{wanted['ClusterName']}", {"AccessEntryArn": arn})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change its policies."""
        wanted = request.properties
        _check(wanted)
        self.account.eks.cluster(wanted["ClusterName"]).access_entries[wanted["PrincipalArn"]] = dict(wanted)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        wanted = request.properties
        self.account.eks.cluster(wanted["ClusterName"]).access_entries[wanted["PrincipalArn"]] = dict(wanted)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        principal, cluster = physical_id.split("|")
        self.account.eks.cluster(cluster).access_entries.pop(principal, None)


def _check(wanted: dict[str, Any]) -> None:
    if not _PRINCIPAL.fullmatch(wanted["PrincipalArn"]):
        raise RefusedError(f"The specified principalArn is invalid: {wanted['PrincipalArn']}", _INVALID)
    for policy in wanted.get("AccessPolicies", []):
        start, _, name = policy["PolicyArn"].rpartition("/")
        if start != "arn:aws:eks::aws:cluster-access-policy" or name not in _POLICIES:
            raise RefusedError(f"The policyArn parameter format is not valid: {policy['PolicyArn']}", _INVALID)
        if policy["AccessScope"]["Type"] not in ("cluster", "namespace"):
            raise RefusedError(f"The access scope {policy['AccessScope']} is invalid", _INVALID)
