"""AWS::IAM::Role."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document
from rehearsal.cloud.resources.tags import as_list, tag_changes


class Role(ResourceType):
    """A role with its managed and inline policies."""

    type = "AWS::IAM::Role"
    properties = frozenset(
        {
            "AssumeRolePolicyDocument",
            "Description",
            "ManagedPolicyArns",
            "MaxSessionDuration",
            "Path",
            "PermissionsBoundary",
            "Policies",
            "RoleName",
            "Tags",
        }
    )
    replaced_by = frozenset({"Path", "RoleName"})
    updated_by = frozenset({"AssumeRolePolicyDocument", "Description", "ManagedPolicyArns", "Policies"})

    def create(self, request: Request) -> Made:
        """Create it; moto refuses managed policies that AWS does not have."""
        iam, wanted = self.account.client("iam"), request.properties
        given = ("Description", "MaxSessionDuration", "Path", "PermissionsBoundary", "Tags")
        name = request.name("RoleName", 64)
        role = iam.create_role(
            RoleName=name,
            AssumeRolePolicyDocument=document(wanted["AssumeRolePolicyDocument"]),
            **{key: wanted[key] for key in given if key in wanted},
        )["Role"]
        request.claim(name)
        self._set_policies(name, wanted)
        return Made(name, {"Arn": role["Arn"], "RoleId": role["RoleId"]})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the trust, the description and the policies."""
        iam, wanted, name = self.account.client("iam"), request.properties, made.physical_id
        trust = document(wanted["AssumeRolePolicyDocument"])
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=trust)
        iam.update_role(RoleName=name, Description=wanted.get("Description", ""))
        for arn in set(old.get("ManagedPolicyArns", [])) - set(wanted.get("ManagedPolicyArns", [])):
            iam.detach_role_policy(RoleName=name, PolicyArn=arn)
        kept = {policy["PolicyName"] for policy in wanted.get("Policies", [])}
        for policy in old.get("Policies", []):
            if policy["PolicyName"] not in kept:
                iam.delete_role_policy(RoleName=name, PolicyName=policy["PolicyName"])
        self._set_policies(name, wanted)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        iam, change = self.account.client("iam"), tag_changes(request.properties, old)
        if change.removed:
            iam.untag_role(RoleName=made.physical_id, TagKeys=change.removed)
        iam.tag_role(RoleName=made.physical_id, Tags=as_list(change.kept))

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; IAM refuses while a policy of another resource is still in it."""
        iam, wanted = self.account.client("iam"), request.properties
        attached = iam.list_attached_role_policies(RoleName=physical_id)["AttachedPolicies"]
        for arn in {policy["PolicyArn"] for policy in attached} & set(wanted.get("ManagedPolicyArns", [])):
            iam.detach_role_policy(RoleName=physical_id, PolicyArn=arn)
        inline = set(iam.list_role_policies(RoleName=physical_id)["PolicyNames"])
        for name in inline & {policy["PolicyName"] for policy in wanted.get("Policies", [])}:
            iam.delete_role_policy(RoleName=physical_id, PolicyName=name)
        iam.delete_role(RoleName=physical_id)

    def _set_policies(self, name: str, wanted: dict[str, Any]) -> None:
        iam = self.account.client("iam")
        for arn in wanted.get("ManagedPolicyArns", []):
            iam.attach_role_policy(RoleName=name, PolicyArn=arn)
        for policy in wanted.get("Policies", []):
            iam.put_role_policy(
                RoleName=name, PolicyName=policy["PolicyName"], PolicyDocument=document(policy["PolicyDocument"])
            )
