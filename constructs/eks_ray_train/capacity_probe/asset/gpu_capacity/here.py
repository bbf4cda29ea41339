"""The nodes of the choice in force, and what of them an update that chooses again can go on with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .clients import Clients
from .properties import Properties
from .questions import ask_nodes
from .stickiness import Choice


@dataclass(frozen=True, kw_only=True)
class Here:
    """The instances that run in the zone of the choice in force, and the hold of that choice.

    They ``fit`` while type, placement group and subnet are the same: then they stay where they are if their zone is
    chosen again. They are ``pinned`` while they run in the placement group that is wanted, which is in one zone.
    ``moves`` tells whether the settings' token asks for a new choice.
    """

    zone: str
    hold: str
    instances: tuple[Mapping[str, Any], ...]
    fit: bool
    pinned: bool
    moves: bool

    @property
    def unreserved(self) -> int:
        """Return how many run in no reservation."""
        return sum("CapacityReservationId" not in instance for instance in self.instances)

    def running(self, zone: str) -> int:
        """Return how many nodes need not be asked for in a zone."""
        return len(self.instances) if self.fit and zone == self.zone else 0

    def running_in(self, reservation_id: str | None) -> int:
        """Return how many nodes are in a reservation."""
        return sum(i.get("CapacityReservationId") == reservation_id for i in self.instances) if self.fit else 0


def look(before: Choice, old: Mapping[str, Any], new: Mapping[str, Any], wanted: Properties, clients: Clients) -> Here:
    """Return what runs where the choice in force is; raises boto3's errors."""
    instances = ask_nodes(str(old["InstanceType"]), before.subnet_id, clients)
    same_group = old.get("PlacementGroupArn") == new.get("PlacementGroupArn")
    return Here(
        zone=before.zone,
        hold=before.hold,
        instances=tuple(instances),
        fit=same_group
        and old["InstanceType"] == wanted.instance_type
        and wanted.candidates.get(before.zone) == before.subnet_id,
        pinned=same_group and wanted.placement_group_arn is not None and bool(instances),
        moves=old.get("ForceToken") != new.get("ForceToken"),
    )
