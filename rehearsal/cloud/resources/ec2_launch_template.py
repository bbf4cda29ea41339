"""AWS::EC2::LaunchTemplate."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType


class LaunchTemplate(ResourceType):
    """A launch template; a change makes a new version of it."""

    type = "AWS::EC2::LaunchTemplate"
    properties = frozenset({"LaunchTemplateData", "LaunchTemplateName", "TagSpecifications"})
    replaced_by = frozenset({"LaunchTemplateName"})
    updated_by = frozenset({"LaunchTemplateData"})

    def create(self, request: Request) -> Made:
        """Create it; boto3 refuses data that is not in EC2's model."""
        made = self.account.client("ec2").create_launch_template(
            LaunchTemplateName=request.name("LaunchTemplateName", 128),
            LaunchTemplateData=request.properties["LaunchTemplateData"],
            TagSpecifications=request.properties.get("TagSpecifications", []),
        )["LaunchTemplate"]
        return _made(made["LaunchTemplateId"], 1)

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Add a version."""
        version = self.account.client("ec2").create_launch_template_version(
            LaunchTemplateId=made.physical_id, LaunchTemplateData=request.properties["LaunchTemplateData"]
        )["LaunchTemplateVersion"]
        return _made(made.physical_id, version["VersionNumber"])

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").delete_launch_template(LaunchTemplateId=physical_id)


def _made(template_id: str, latest: int) -> Made:
    attributes = {"LaunchTemplateId": template_id, "LatestVersionNumber": str(latest), "DefaultVersionNumber": "1"}
    return Made(template_id, attributes)
