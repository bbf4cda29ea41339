"""AWS::IAM::ManagedPolicy."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document


class ManagedPolicy(ResourceType):
    """A managed policy of the account."""

    type = "AWS::IAM::ManagedPolicy"
    properties = frozenset({"Description", "ManagedPolicyName", "Path", "PolicyDocument"})
    replaced_by = frozenset({"Description", "ManagedPolicyName", "Path"})

    def create(self, request: Request) -> Made:
        """Create it."""
        wanted = request.properties
        made = self.account.client("iam").create_policy(
            PolicyName=request.name("ManagedPolicyName", 128),
            Path=wanted.get("Path", "/"),
            PolicyDocument=document(wanted["PolicyDocument"]),
            Description=wanted.get("Description", ""),
        )["Policy"]
        return Made(made["Arn"], {"PolicyArn": made["Arn"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while a role has it."""
        self.account.client("iam").delete_policy(PolicyArn=physical_id)
