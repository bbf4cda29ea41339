"""AWS::CDK::Metadata."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType


class Metadata(ResourceType):
    """What CDK says about its versions: nothing is made."""

    type = "AWS::CDK::Metadata"
    properties = frozenset({"Analytics"})
    replaced_by = frozenset({"Analytics"})

    def create(self, request: Request) -> Made:
        """Do nothing."""
        return Made(request.name("Id"))

    def delete(self, physical_id: str, request: Request) -> None:
        """Do nothing."""
