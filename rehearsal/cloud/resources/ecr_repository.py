"""AWS::ECR::Repository."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.iam_documents import document
from rehearsal.cloud.resources.tags import as_list, tag_changes


class Repository(ResourceType):
    """A repository of container images."""

    type = "AWS::ECR::Repository"
    properties = frozenset({"ImageTagMutability", "RepositoryName", "RepositoryPolicyText", "Tags"})
    harmless = ignored(LifecyclePolicy="nothing here lives for days")
    replaced_by = frozenset({"RepositoryName"})

    def create(self, request: Request) -> Made:
        """Create it with its policy."""
        ecr, wanted = self.account.client("ecr"), request.properties
        name = request.name("RepositoryName").lower()
        made = ecr.create_repository(
            repositoryName=name,
            imageTagMutability=wanted.get("ImageTagMutability", "MUTABLE"),
            tags=wanted.get("Tags", []),
        )["repository"]
        request.claim(name)
        if "RepositoryPolicyText" in wanted:
            ecr.set_repository_policy(repositoryName=name, policyText=document(wanted["RepositoryPolicyText"]))
        return Made(name, {"Arn": made["repositoryArn"], "RepositoryUri": made["repositoryUri"]})

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        ecr, change = self.account.client("ecr"), tag_changes(request.properties, old)
        if change.removed:
            ecr.untag_resource(resourceArn=made.attributes["Arn"], tagKeys=change.removed)
        if change.kept:
            ecr.tag_resource(resourceArn=made.attributes["Arn"], tags=as_list(change.kept))

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while it holds images."""
        self.account.client("ecr").delete_repository(repositoryName=physical_id)
