"""A capacity reservation, and what a launch must have to use it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rehearsal.cloud.regions import region_of

OPEN = ("active", "pending")
BLOCK = "capacity-block"
ON_DEMAND = "on-demand"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What one instance is launched with; ``market`` is ``on-demand`` or ``capacity-block``.

    ``reservation_id`` or ``group_arn`` is the template's capacity reservation target; ``preference`` is EC2's:
    ``open``, ``none`` or ``capacity-reservations-only``.
    """

    instance_type: str
    zone: str
    market: str = ON_DEMAND
    reservation_id: str | None = None
    group_arn: str | None = None
    preference: str | None = None
    platform: str = "Linux/UNIX"
    tenancy: str = "default"
    placement_group: str | None = None
    subnet: str | None = None


@dataclass(kw_only=True)
class Instance:
    """A running instance; ``reservation`` is the id of the reservation that it fills.

    ``launched`` is what it was launched with.
    """

    id: str
    instance_type: str
    zone: str
    market: str
    reservation: str | None
    launched: Launch


@dataclass(kw_only=True)
class Reservation:
    """A capacity reservation, with the parameters that made it; ``users`` are the ids of the instances in it.

    ``planted`` ones were there before the rehearsal and took nothing out of a zone's free capacity; ``asked`` is what
    was first asked for, which a client token stands for.
    """

    id: str
    parameters: dict[str, Any]
    state: str
    created: datetime
    tags: dict[str, str]
    planted: bool = False
    asked: dict[str, Any] = field(default_factory=dict)
    users: set[str] = field(default_factory=set)

    @property
    def zone(self) -> str:
        """The zone it is in."""
        return str(self.parameters["AvailabilityZone"])

    @property
    def region(self) -> str:
        """The region it is in."""
        return region_of(self.zone)

    @property
    def instance_type(self) -> str:
        """The instance type that it holds."""
        return str(self.parameters["InstanceType"])

    @property
    def count(self) -> int:
        """How many instances it holds."""
        return int(self.parameters["InstanceCount"])

    @property
    def available(self) -> int:
        """How many instances it can still take."""
        return self.count - len(self.users) if self.state == "active" else 0

    @property
    def end(self) -> datetime | None:
        """When EC2 ends it by itself."""
        end = self.parameters.get("EndDate")
        return datetime.fromisoformat(end) if end else None

    @property
    def kind(self) -> str:
        """EC2's reservation type: ``default`` for an On-Demand Capacity Reservation, or ``capacity-block``."""
        return str(self.parameters.get("ReservationType", "default"))

    @property
    def placement_group(self) -> str | None:
        """The name of the cluster placement group that it was made in."""
        arn = self.parameters.get("PlacementGroupArn")
        return str(arn).rsplit("/", 1)[-1] if arn else None

    @property
    def criteria(self) -> str:
        """Which launches it takes: ``open`` ones, or only those that ``targeted`` it."""
        return str(self.parameters.get("InstanceMatchCriteria", "open"))

    def mismatches(self, launch: Launch) -> list[str]:
        """Return what of a launch differs from it; a launch with any of these never gets into it."""
        pairs = (
            ("instance type", self.instance_type, launch.instance_type),
            ("Availability Zone", self.zone, launch.zone),
            ("platform", self.parameters.get("InstancePlatform", "Linux/UNIX"), launch.platform),
            ("tenancy", self.parameters.get("Tenancy", "default"), launch.tenancy),
            ("placement group", self.placement_group, launch.placement_group),
            ("market", BLOCK if self.kind == BLOCK else ON_DEMAND, launch.market),
        )
        return [f"{name} {mine}, not {given}" for name, mine, given in pairs if mine != given]
