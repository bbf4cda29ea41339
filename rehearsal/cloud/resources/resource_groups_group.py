"""AWS::ResourceGroups::Group."""

from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.tags import as_map, tag_changes


class ResourceGroup(ResourceType):
    """A resource group, here a pool of capacity reservations that a launch template can target."""

    type = "AWS::ResourceGroups::Group"
    properties = frozenset({"Configuration", "Description", "Name", "Tags"})
    replaced_by = frozenset({"Name"})

    def create(self, request: Request) -> Made:
        """Create it; refused where the name is taken, also by a group that is still being replaced."""
        groups, wanted = self.account.client("resource-groups"), request.properties
        if "Name" not in wanted:
            raise RefusedError("#: required key [Name] not found")
        made = groups.create_group(
            Name=wanted["Name"],
            Description=wanted.get("Description", ""),
            Configuration=wanted.get("Configuration", []),
            Tags=as_map(wanted.get("Tags")),
        )["Group"]
        return Made(made["Name"], {"Arn": made["GroupArn"]})

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        groups, arn = self.account.client("resource-groups"), made.attributes["Arn"]
        change = tag_changes(request.properties, old)
        if change.removed:
            groups.untag(Arn=arn, Keys=change.removed)
        groups.tag(Arn=arn, Tags=change.kept)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; its members, and the instances in them, stay what they are."""
        self.account.client("resource-groups").delete_group(Group=physical_id)
