"""Whether EKS would let a function into the cluster: the emulated Kubernetes API asks nobody who they are."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.definitions import Function


def check_cluster_access(function: Function, event: dict[str, Any], account: Account) -> None:
    """Raise RefusedError where a handler of CDK's Kubernetes resources may not do everything in the cluster."""
    if not event["ResourceType"].startswith("Custom::AWSCDK-EKS-"):
        return
    cluster = account.eks.cluster(event["ResourceProperties"]["ClusterName"])
    entry = cluster.access_entries.get(function.role, {})
    policies = {policy["PolicyArn"].rsplit("/", 1)[-1] for policy in entry.get("AccessPolicies", [])}
    if "AmazonEKSClusterAdminPolicy" not in policies:
        raise RefusedError(
            f"error: You must be logged in to the server (Unauthorized): {function.role} has no access entry"
        )
