"""AWS::S3::BucketPolicy."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document


class BucketPolicy(ResourceType):
    """A bucket's policy.

    Statements with conditions stay outside: moto applies them without looking at the condition, and what denies plain
    HTTP would deny everything here.
    """

    type = "AWS::S3::BucketPolicy"
    properties = frozenset({"Bucket", "PolicyDocument"})
    replaced_by = frozenset({"Bucket"})
    updated_by = frozenset({"PolicyDocument"})

    def create(self, request: Request) -> Made:
        """Put it."""
        s3, wanted = self.account.client("s3"), request.properties
        policy = wanted["PolicyDocument"]
        document(policy)
        statements = [statement for statement in policy["Statement"] if "Condition" not in statement]
        if statements:
            s3.put_bucket_policy(Bucket=wanted["Bucket"], Policy=document({**policy, "Statement": statements}))
        else:
            s3.head_bucket(Bucket=wanted["Bucket"])
        return Made(wanted["Bucket"])

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Put it anew."""
        return self.create(request)

    def delete(self, physical_id: str, request: Request) -> None:
        """Take it away."""
        self.account.client("s3").delete_bucket_policy(Bucket=physical_id)
