"""AWS::EC2::PlacementGroup."""

from typing import Any

from rehearsal.cloud.account import Placement
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType

_STRATEGIES = ("cluster", "partition", "spread")


class PlacementGroup(ResourceType):
    """A placement group, which moto lacks: it is a name that node groups may use."""

    type = "AWS::EC2::PlacementGroup"
    properties = frozenset({"Strategy", "Tags"})
    replaced_by = frozenset({"Strategy"})

    def create(self, request: Request) -> Made:
        """Create it."""
        strategy = request.properties.get("Strategy", "cluster")
        if strategy not in _STRATEGIES:
            raise RefusedError(f"Value ({strategy}) for parameter strategy is invalid", "InvalidParameterValue")
        name = request.name("GroupName")
        self.account.placement_groups[name] = Placement(strategy=strategy, tags=request.properties.get("Tags", []))
        return Made(name, {"GroupName": name})

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        self.account.placement_groups[made.physical_id].tags = request.properties.get("Tags", [])

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while instances are in it."""
        if users := self.account.eks.nodes_in_placement_group(physical_id):
            raise RefusedError(
                f"The placement group '{physical_id}' is in use by {users}", "InvalidPlacementGroup.InUse"
            )
        self.account.placement_groups.pop(physical_id, None)
