"""How many instances each zone can still give, the quotas, and the reservations that hold some of it."""

import itertools
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.errors import RefusedError

DEFAULT_QUOTA_VCPUS = 1000
OPEN = ("active", "pending")


@dataclass
class Reservation:
    """A capacity reservation, with the parameters that made it."""

    id: str
    parameters: dict[str, Any]
    state: str
    created: datetime
    tags: dict[str, str]

    @property
    def zone(self) -> str:
        """The zone it is in."""
        return str(self.parameters["AvailabilityZone"])

    @property
    def instance_type(self) -> str:
        """The instance type that it holds."""
        return str(self.parameters["InstanceType"])

    @property
    def count(self) -> int:
        """How many instances it holds."""
        return int(self.parameters["InstanceCount"])

    @property
    def end(self) -> datetime | None:
        """When EC2 ends it by itself."""
        end = self.parameters.get("EndDate")
        return datetime.fromisoformat(end) if end else None


@dataclass
class Capacity:
    """Capacity is without limit until ``limit`` sets one for a zone and an instance type."""

    reservations: dict[str, Reservation] = field(default_factory=dict)
    quotas: dict[str, float] = field(default_factory=dict)
    scores: dict[str, int] = field(default_factory=dict)
    _free: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def limit(self, zone: str, instance_type: str, count: int) -> None:
        """From now on a zone has ``count`` instances of a type left."""
        with self._lock:
            self._free[zone, instance_type] = count

    def take(self, zone: str, instance_type: str, count: int) -> None:
        """Take instances out of a zone; raises RefusedError when it has fewer."""
        with self._lock:
            free = self._free.get((zone, instance_type))
            if free is None:
                return
            if free < count:
                raise RefusedError(
                    f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you "
                    f"requested ({zone}). Our system will be working on provisioning additional capacity.",
                    "InsufficientInstanceCapacity",
                )
            self._free[zone, instance_type] = free - count

    def give_back(self, zone: str, instance_type: str, count: int) -> None:
        """Return instances to a zone."""
        with self._lock:
            if (zone, instance_type) in self._free:
                self._free[zone, instance_type] += count

    def reserve(self, parameters: dict[str, Any], tags: dict[str, str]) -> Reservation:
        """Make a reservation, or return the one that the same client token made."""
        token = parameters.get("ClientToken")
        with self._lock:
            self._expire()
            for known in self.reservations.values():
                if token and known.parameters.get("ClientToken") == token:
                    if known.parameters != parameters or known.tags != tags:
                        raise RefusedError("The token was used with other parameters.", "IdempotentParameterMismatch")
                    return known
            number = next(self._numbers)
            made = Reservation(f"cr-{number:017x}", parameters, "active", datetime.now(UTC), tags)
            self.take(made.zone, made.instance_type, made.count)
            self.reservations[made.id] = made
            return made

    def cancel(self, reservation_id: str) -> None:
        """Give a reservation's capacity back; raises RefusedError for one that is unknown or not open."""
        with self._lock:
            self._expire()
            found = self.reservations.get(reservation_id)
            if found is None:
                raise RefusedError(
                    f"The capacity reservation '{reservation_id}' does not exist",
                    "InvalidCapacityReservationId.NotFound",
                )
            if found.state not in OPEN:
                raise RefusedError(f"{reservation_id} is {found.state}", "InvalidCapacityReservationState")
            self._close(found, "cancelled")

    def describe(self) -> list[Reservation]:
        """Return every reservation, ended ones included."""
        with self._lock:
            self._expire()
            return list(self.reservations.values())

    def _expire(self) -> None:
        for found in self.reservations.values():
            if found.state in OPEN and found.end is not None and found.end <= datetime.now(UTC):
                self._close(found, "expired")

    def _close(self, found: Reservation, state: str) -> None:
        found.state = state
        self.give_back(found.zone, found.instance_type, found.count)
