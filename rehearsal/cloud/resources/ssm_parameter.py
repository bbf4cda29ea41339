"""AWS::SSM::Parameter."""

from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.tags import as_list, as_map, tag_changes


class Parameter(ResourceType):
    """A parameter of the parameter store."""

    type = "AWS::SSM::Parameter"
    properties = frozenset({"Description", "Name", "Tags", "Type", "Value"})
    replaced_by = frozenset({"Name"})
    updated_by = frozenset({"Description", "Type", "Value"})

    def create(self, request: Request) -> Made:
        """Create it; refused where it exists."""
        return self._put(request.name("Name"), request.properties, overwrite=False)

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change its value."""
        return self._put(made.physical_id, request.properties, overwrite=True)

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        ssm, change = self.account.client("ssm"), tag_changes(request.properties, old)
        given = {"ResourceType": "Parameter", "ResourceId": made.physical_id}
        if change.removed:
            ssm.remove_tags_from_resource(**given, TagKeys=change.removed)
        if change.kept:
            ssm.add_tags_to_resource(**given, Tags=as_list(change.kept))

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ssm").delete_parameter(Name=physical_id)

    def _put(self, name: str, wanted: dict[str, Any], *, overwrite: bool) -> Made:
        if wanted["Type"] not in ("String", "StringList"):
            raise RefusedError(f"The type {wanted['Type']} is not supported by CloudFormation")
        tags = as_list(as_map(wanted.get("Tags")))
        self.account.client("ssm").put_parameter(
            Name=name,
            Type=wanted["Type"],
            Value=str(wanted["Value"]),
            Description=wanted.get("Description", ""),
            **({"Overwrite": True} if overwrite else {"Tags": tags}),
        )
        return Made(name, {"Type": wanted["Type"], "Value": str(wanted["Value"])})
