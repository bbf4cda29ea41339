"""AWS::KMS::Key."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document
from rehearsal.cloud.resources.tags import as_map, tag_changes


class Key(ResourceType):
    """A key; deletion is scheduled, as on AWS, so that it stays in the account until its window ends."""

    type = "AWS::KMS::Key"
    properties = frozenset({"Description", "EnableKeyRotation", "KeyPolicy", "PendingWindowInDays", "Tags"})

    def create(self, request: Request) -> Made:
        """Create it."""
        kms, wanted = self.account.client("kms"), request.properties
        made = kms.create_key(
            Description=wanted.get("Description", ""),
            Policy=document(wanted["KeyPolicy"]),
            Tags=_tags(as_map(wanted.get("Tags"))),
        )["KeyMetadata"]
        if wanted.get("EnableKeyRotation"):
            kms.enable_key_rotation(KeyId=made["KeyId"])
        return Made(made["KeyId"], {"Arn": made["Arn"], "KeyId": made["KeyId"]})

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        kms, change = self.account.client("kms"), tag_changes(request.properties, old)
        if change.removed:
            kms.untag_resource(KeyId=made.physical_id, TagKeys=change.removed)
        if change.kept:
            kms.tag_resource(KeyId=made.physical_id, Tags=_tags(change.kept))

    def delete(self, physical_id: str, request: Request) -> None:
        """Schedule the deletion."""
        self.account.client("kms").schedule_key_deletion(
            KeyId=physical_id, PendingWindowInDays=request.properties.get("PendingWindowInDays", 30)
        )


def _tags(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"TagKey": key, "TagValue": value} for key, value in tags.items()]
