"""AWS::Lambda::LayerVersion."""

from rehearsal.cloud.functions.definitions import Package
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored


class LayerVersion(ResourceType):
    """A layer: a published zip file. moto would hash its megabytes, so only its place is kept."""

    type = "AWS::Lambda::LayerVersion"
    properties = frozenset({"Content"})
    harmless = ignored(Description="words", LayerName="the ARN has it", LicenseInfo="words")
    replaced_by = frozenset({"Content"})

    def create(self, request: Request) -> Made:
        """Create it; refused where the object does not exist."""
        content = request.properties["Content"]
        self.account.client("s3").head_object(Bucket=content["S3Bucket"], Key=content["S3Key"])
        arn = self.account.arn("lambda", f"layer:{request.name('LayerName', 64)}:1")
        self.account.functions.layers[arn] = Package(bucket=content["S3Bucket"], key=content["S3Key"])
        return Made(arn, {"LayerVersionArn": arn})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; functions that have it go on."""
        self.account.functions.layers.pop(physical_id, None)
