"""AWS::KMS::Key."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document


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
            Tags=[{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in wanted.get("Tags", [])],
        )["KeyMetadata"]
        if wanted.get("EnableKeyRotation"):
            kms.enable_key_rotation(KeyId=made["KeyId"])
        return Made(made["KeyId"], {"Arn": made["Arn"], "KeyId": made["KeyId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Schedule the deletion."""
        self.account.client("kms").schedule_key_deletion(
            KeyId=physical_id, PendingWindowInDays=request.properties.get("PendingWindowInDays", 30)
        )
