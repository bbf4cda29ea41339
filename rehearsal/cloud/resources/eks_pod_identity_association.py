"""AWS::EKS::PodIdentityAssociation."""

import uuid
from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType

_SERVICE = "pods.eks.amazonaws.com"


class PodIdentityAssociation(ResourceType):
    """Which role the pods of a service account get."""

    type = "AWS::EKS::PodIdentityAssociation"
    properties = frozenset({"ClusterName", "Namespace", "RoleArn", "ServiceAccount", "Tags"})
    replaced_by = frozenset({"ClusterName", "Namespace", "ServiceAccount"})
    updated_by = frozenset({"RoleArn"})

    def create(self, request: Request) -> Made:
        """Create it; refused where there is one, and where pods could not assume the role."""
        wanted = request.properties
        self._check_role(wanted["RoleArn"])
        with self.account.eks.lock:
            cluster = self.account.eks.cluster(wanted["ClusterName"])
            if "eks-pod-identity-agent" not in cluster.addons:
                raise RefusedError("No add-on eks-pod-identity-agent: pods would get no credentials")
            for known in cluster.associations.values():
                if all(known[key] == wanted[key] for key in ("Namespace", "ServiceAccount")):
                    raise RefusedError(
                        f"Association already exists: {wanted['Namespace']}/{wanted['ServiceAccount']}",
                        "ResourceInUseException",
                    )
            association = f"a-{uuid.uuid4().hex[:17]}"
            cluster.associations[association] = dict(wanted)
        arn = self.account.arn("eks", f"podidentityassociation/{wanted['ClusterName']}/{association}")
        return Made(arn, {"AssociationArn": arn, "AssociationId": association})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the role."""
        wanted = request.properties
        self._check_role(wanted["RoleArn"])
        self.account.eks.cluster(wanted["ClusterName"]).associations[made.attributes["AssociationId"]] = dict(wanted)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        wanted = request.properties
        self.account.eks.cluster(wanted["ClusterName"]).associations[made.attributes["AssociationId"]] = dict(wanted)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        association = physical_id.rsplit("/", 1)[-1]
        self.account.eks.cluster(request.properties["ClusterName"]).associations.pop(association, None)

    def _check_role(self, arn: str) -> None:
        role = self.account.client("iam").get_role(RoleName=arn.rsplit("/", 1)[-1])["Role"]
        trusted = [
            statement
            for statement in role["AssumeRolePolicyDocument"]["Statement"]
            if statement.get("Principal", {}).get("Service") == _SERVICE
        ]
        actions = {action for statement in trusted for action in _listed(statement["Action"])}
        if not {"sts:AssumeRole", "sts:TagSession"} <= actions:
            raise RefusedError(
                f"The trust policy of {arn} does not let {_SERVICE} assume the role and tag the session",
                "InvalidParameterException",
            )


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]
