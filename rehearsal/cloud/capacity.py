"""How many instances each zone can still give, and the reservations and instances that have some of it."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.quotas import Quotas
from rehearsal.cloud.regions import region_of
from rehearsal.cloud.reservations import BLOCK, OPEN, Instance, Launch, Reservation


@dataclass
class Capacity:
    """Capacity is without limit until ``limit`` sets one for a zone and an instance type. Safe to use from threads.

    ``now`` is the clock of end dates, node groups and schedules, ``scores`` are the Spot placement scores of zones and
    regions by name.
    """

    quotas: Quotas = field(default_factory=Quotas)
    scores: dict[str, int] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    _reservations: dict[str, Reservation] = field(default_factory=dict)
    _free: dict[tuple[str, str], int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def limit(self, zone: str, instance_type: str, count: int | None) -> None:
        """From now on a zone has ``count`` instances of a type left; None takes the limit away."""
        with self.lock:
            self._free.pop((zone, instance_type), None)
            if count is not None:
                self._free[zone, instance_type] = count

    def free(self, zone: str, instance_type: str) -> int | None:
        """Return how many instances a zone has left; None is no limit."""
        with self.lock:
            self._expire()
            return self._free.get((zone, instance_type))

    def reserve(self, parameters: dict[str, Any], tags: dict[str, str]) -> Reservation:
        """Make a reservation, or return the one that the same client token made; raises RefusedError."""
        token, region = parameters.get("ClientToken"), region_of(str(parameters["AvailabilityZone"]))
        with self.lock:
            self._expire()
            for known in self._reservations.values():
                if token and known.asked.get("ClientToken") == token and known.region == region:
                    if known.asked != parameters or known.tags != tags:
                        raise RefusedError(
                            f"The client token {token} was used with other parameters.", "IdempotentParameterMismatch"
                        )
                    return known
            made = self._new(parameters, tags)
            self._check_quota(made.zone, made.instance_type, made.count)
            self._take(made.zone, made.instance_type, made.count)
            self._reservations[made.id] = made
            return made

    def plant(self, parameters: dict[str, Any], tags: dict[str, str], state: str) -> Reservation:
        """Add a reservation that was there before, in any state, beside what its zone has free."""
        with self.lock:
            made = self._new(parameters, tags)
            made.state, made.planted = state, True
            self._reservations[made.id] = made
            return made

    def find(self, reservation_id: str, region: str | None = None) -> Reservation:
        """Return a reservation; raises RefusedError where the region (any, without one) has none of that id."""
        with self.lock:
            self._expire()
            found = self._reservations.get(reservation_id)
            if found is None or region not in (None, found.region):
                raise RefusedError(
                    f"The capacity reservation '{reservation_id}' does not exist",
                    "InvalidCapacityReservationId.NotFound",
                )
            return found

    def cancel(self, reservation_id: str, region: str | None = None) -> None:
        """Give a reservation's capacity back; instances in it run on, as On-Demand ones. Raises RefusedError."""
        with self.lock:
            found = self.find(reservation_id, region)
            if found.kind == BLOCK:
                raise RefusedError(
                    f"{reservation_id} is a Capacity Block and can't be cancelled", "OperationNotPermitted"
                )
            if found.state not in OPEN:
                raise RefusedError(
                    f"The capacity reservation '{reservation_id}' is in state {found.state} and can't be cancelled",
                    "InvalidCapacityReservationState",
                )
            self._close(found, "cancelled")

    def modify(self, reservation_id: str, region: str, changes: dict[str, Any]) -> None:
        """Change a reservation's size or end; a larger one needs room, a smaller one must hold what is in it."""
        with self.lock:
            found = self.find(reservation_id, region)
            if found.state != "active":
                raise RefusedError(
                    f"The capacity reservation '{reservation_id}' is {found.state}", "InvalidCapacityReservationState"
                )
            more = int(changes.get("InstanceCount", found.count)) - found.count
            if more > 0:
                self._check_quota(found.zone, found.instance_type, more)
                self._take(found.zone, found.instance_type, more)
            elif found.available < -more:
                raise RefusedError(f"{len(found.users)} instances use {reservation_id}", "InvalidParameterValue")
            else:
                self._give_back(found.zone, found.instance_type, -more)
            found.parameters = {**found.parameters, **changes}
            if found.parameters.get("EndDateType") == "unlimited":
                found.parameters.pop("EndDate", None)

    def reservations(self, region: str | None = None) -> list[Reservation]:
        """Return the reservations of a region (all, without one), ended ones included."""
        with self.lock:
            self._expire()
            return [item for item in self._reservations.values() if region in (None, item.region)]

    def launch(self, launch: Launch, reservation: Reservation | None) -> Instance:
        """Start an instance, in a reservation or out of the zone's free capacity; raises RefusedError."""
        with self.lock:
            if reservation is None:
                self.quotas.check_launch(
                    launch.zone,
                    launch.instance_type,
                    list(self._reservations.values()),
                    list(self.instances.values()),
                )
                self._take(launch.zone, launch.instance_type, 1)
            elif reservation.available < 1:
                raise RefusedError(
                    "The requested reservation does not have sufficient compatible and available capacity for this "
                    f"request. ({reservation.id}: {len(reservation.users)} of {reservation.count} used)",
                    "ReservationCapacityExceeded",
                )
            made = Instance(
                id=f"i-{uuid.uuid4().hex[:17]}",
                instance_type=launch.instance_type,
                zone=launch.zone,
                market=launch.market,
                reservation=reservation.id if reservation else None,
                launched=launch,
            )
            if reservation is not None:
                reservation.users.add(made.id)
            self.instances[made.id] = made
            return made

    def move(self, reservation_id: str, group_arn: str) -> list[str]:
        """Move running instances that target a group into a reservation that has joined it; return their ids.

        EC2 does so with those that match and are in no reservation (EC2 user guide, "Capacity Reservation groups").
        """
        with self.lock:
            found, moved = self.find(reservation_id), []
            for instance in self.instances.values():
                targets = instance.launched.group_arn == group_arn and instance.reservation is None
                if targets and found.available and not found.mismatches(instance.launched):
                    found.users.add(instance.id)
                    instance.reservation = found.id
                    self._give_back(instance.zone, instance.instance_type, 1)
                    moved.append(instance.id)
            return moved

    def terminate(self, instance_id: str) -> None:
        """End an instance: its place goes back to its reservation, or to the zone."""
        with self.lock:
            self._expire()
            gone = self.instances.pop(instance_id)
            if gone.reservation is not None:
                self._reservations[gone.reservation].users.discard(gone.id)
            else:
                self._give_back(gone.zone, gone.instance_type, 1)

    def _new(self, parameters: dict[str, Any], tags: dict[str, str]) -> Reservation:
        if parameters["InstanceType"] not in INSTANCE_TYPES:
            raise RefusedError(f"the rehearsal knows no vCPUs of {parameters['InstanceType']}", "InvalidParameterValue")
        id = f"cr-{uuid.uuid4().hex[:17]}"
        return Reservation(
            id=id, parameters=parameters, asked=parameters, state="active", created=self.now(), tags=tags
        )

    def _check_quota(self, zone: str, type: str, count: int) -> None:
        every = list(self._reservations.values())
        self.quotas.check_reservation(zone, type, count, every, list(self.instances.values()))

    def _take(self, zone: str, instance_type: str, count: int) -> None:
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

    def _give_back(self, zone: str, instance_type: str, count: int) -> None:
        if (zone, instance_type) in self._free:
            self._free[zone, instance_type] += count

    def _expire(self) -> None:
        for found in self._reservations.values():
            if found.state in OPEN and found.end is not None and found.end <= self.now():
                self._close(found, "expired")

    def _close(self, found: Reservation, state: str) -> None:
        if not found.planted:
            self._give_back(found.zone, found.instance_type, found.available)
        found.state = state
        for id in found.users:
            self.instances[id].reservation = None
        found.users.clear()
