"""AWS::SSM::Parameter."""

from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType


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

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ssm").delete_parameter(Name=physical_id)

    def _put(self, name: str, wanted: dict[str, Any], *, overwrite: bool) -> Made:
        if wanted["Type"] not in ("String", "StringList"):
            raise RefusedError(f"The type {wanted['Type']} is not supported by CloudFormation")
        tags = [{"Key": key, "Value": value} for key, value in wanted.get("Tags", {}).items()]
        self.account.client("ssm").put_parameter(
            Name=name,
            Type=wanted["Type"],
            Value=str(wanted["Value"]),
            Description=wanted.get("Description", ""),
            **({"Overwrite": True} if overwrite else {"Tags": tags}),
        )
        return Made(name, {"Type": wanted["Type"], "Value": str(wanted["Value"])})
