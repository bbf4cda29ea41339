"""AWS::S3::Bucket."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored


class Bucket(ResourceType):
    """A bucket."""

    type = "AWS::S3::Bucket"
    properties = frozenset(
        {
            "BucketEncryption",
            "BucketName",
            "OwnershipControls",
            "PublicAccessBlockConfiguration",
            "Tags",
            "VersioningConfiguration",
        }
    )
    harmless = ignored(
        AccessControl="only Private is used, which is the default",
        LifecycleConfiguration="nothing here lives for days",
    )
    replaced_by = frozenset({"BucketName"})
    updated_by = frozenset({"BucketEncryption", "PublicAccessBlockConfiguration", "VersioningConfiguration"})

    def create(self, request: Request) -> Made:
        """Create it with its settings."""
        s3, wanted = self.account.client("s3"), request.properties
        name = request.name("BucketName", 63).lower()
        ownership = wanted.get("OwnershipControls", {}).get("Rules", [{}])[0].get("ObjectOwnership")
        s3.create_bucket(
            Bucket=name,
            CreateBucketConfiguration={"LocationConstraint": self.account.region},
            **({"ObjectOwnership": ownership} if ownership else {}),
        )
        request.claim(name)
        self._set(name, wanted)
        if wanted.get("Tags"):
            s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": wanted["Tags"]})
        region = self.account.region
        return Made(
            name,
            {
                "Arn": f"arn:aws:s3:::{name}",
                "DomainName": f"{name}.s3.amazonaws.com",
                "RegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
            },
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change its settings."""
        self._set(made.physical_id, request.properties)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        s3 = self.account.client("s3")
        if request.properties.get("Tags"):
            s3.put_bucket_tagging(Bucket=made.physical_id, Tagging={"TagSet": request.properties["Tags"]})
        else:
            s3.delete_bucket_tagging(Bucket=made.physical_id)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while it holds anything."""
        self.account.client("s3").delete_bucket(Bucket=physical_id)

    def _set(self, name: str, wanted: dict[str, Any]) -> None:
        s3 = self.account.client("s3")
        if "VersioningConfiguration" in wanted:
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=wanted["VersioningConfiguration"])
        if "PublicAccessBlockConfiguration" in wanted:
            block = wanted["PublicAccessBlockConfiguration"]
            s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=block)
        for rule in wanted.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", []):
            default = rule["ServerSideEncryptionByDefault"]
            s3.put_bucket_encryption(
                Bucket=name,
                ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": default}]},
            )
