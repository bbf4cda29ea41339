"""AWS::ECR::Repository."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.iam_documents import document


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
            repositoryName=name, imageTagMutability=wanted.get("ImageTagMutability", "MUTABLE")
        )["repository"]
        request.claim(name)
        if "RepositoryPolicyText" in wanted:
            ecr.set_repository_policy(repositoryName=name, policyText=document(wanted["RepositoryPolicyText"]))
        return Made(name, {"Arn": made["repositoryArn"], "RepositoryUri": made["repositoryUri"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while it holds images."""
        self.account.client("ecr").delete_repository(repositoryName=physical_id)
