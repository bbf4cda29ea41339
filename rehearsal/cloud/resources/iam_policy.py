"""AWS::IAM::Policy."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document


class Policy(ResourceType):
    """An inline policy of one or more roles."""

    type = "AWS::IAM::Policy"
    properties = frozenset({"PolicyDocument", "PolicyName", "Roles"})
    updated_by = frozenset({"PolicyDocument", "PolicyName", "Roles"})

    def create(self, request: Request) -> Made:
        """Put it into its roles."""
        self._put(request.properties)
        return Made(request.name("Id"))

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Put it anew, and take it out of roles that no longer have it."""
        wanted = request.properties
        self._put(wanted)
        for role in old["Roles"]:
            if role not in wanted["Roles"] or old["PolicyName"] != wanted["PolicyName"]:
                self.account.client("iam").delete_role_policy(RoleName=role, PolicyName=old["PolicyName"])
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Take it out of its roles."""
        for role in request.properties["Roles"]:
            self.account.client("iam").delete_role_policy(RoleName=role, PolicyName=request.properties["PolicyName"])

    def _put(self, wanted: dict[str, Any]) -> None:
        for role in wanted["Roles"]:
            self.account.client("iam").put_role_policy(
                RoleName=role, PolicyName=wanted["PolicyName"], PolicyDocument=document(wanted["PolicyDocument"])
            )
