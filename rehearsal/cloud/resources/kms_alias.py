"""AWS::KMS::Alias."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType


class Alias(ResourceType):
    """An alias of a key."""

    type = "AWS::KMS::Alias"
    properties = frozenset({"AliasName", "TargetKeyId"})
    replaced_by = frozenset({"AliasName", "TargetKeyId"})

    def create(self, request: Request) -> Made:
        """Create it."""
        self.account.client("kms").create_alias(**request.properties)
        return Made(request.properties["AliasName"])

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("kms").delete_alias(AliasName=physical_id)
