"""EC2's capacity reservations in memory: capacity, idempotency, end dates, and what a search shows only later."""

from datetime import timedelta
from typing import Any

from .clock import Clock
from .recording import error

ACCOUNT = "111111111111"
OPEN = ("active", "pending")


def cr(number: int) -> str:
    """The id of a reservation, by the order in which they were made."""
    return f"cr-{number:017x}"


class Reservations:
    """``room`` is what a zone has left, without limit where it is not named; ``no_room`` has codes of refusals.

    EC2 shows a new reservation ``shown_after`` it was made, and cancels it before.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.all: list[dict[str, Any]] = []
        self.tokens: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.room: dict[str, int] = {}
        self.no_room: dict[str, str] = {}
        self.new_states = ["active"]  # of a new reservation, one a look
        self.shown_after = timedelta(0)

    def create(self, given: dict[str, Any]) -> dict[str, Any]:
        assert given["EndDateType"] == "limited" and given["EndDate"] > self.clock.now, "an end date to come"
        if seen := self.tokens.get(given["ClientToken"]):
            if seen[0] != given:
                raise error("IdempotentParameterMismatch", "CreateCapacityReservation")
            return dict(seen[1])
        zone, count = given["AvailabilityZone"], given["InstanceCount"]
        if zone in self.no_room:
            raise error(self.no_room[zone], "CreateCapacityReservation")
        if self.room.get(zone, count) < count:
            raise error("InsufficientInstanceCapacity", "CreateCapacityReservation")
        made = self.plant(
            zone=zone,
            InstanceType=given["InstanceType"],
            TotalInstanceCount=count,
            AvailableInstanceCount=count,
            State=self.new_states[0],
            EndDate=given["EndDate"],
            EndDateType="limited",
            Tags=given["TagSpecifications"][0]["Tags"],
        )
        self._take(zone, count)
        self.tokens[given["ClientToken"]] = (given, made)
        return dict(made)

    def plant(self, zone: str, **changes: Any) -> dict[str, Any]:
        """Put a reservation there."""
        number = cr(len(self.all))
        made = {
            "CapacityReservationId": number,
            "CapacityReservationArn": f"arn:aws:ec2:us-east-2:{ACCOUNT}:capacity-reservation/{number}",
            "OwnerId": ACCOUNT,
            "AvailabilityZone": zone,
            "InstanceType": "g6.12xlarge",
            "InstancePlatform": "Linux/UNIX",
            "Tenancy": "default",
            "TotalInstanceCount": 2,
            "AvailableInstanceCount": 2,
            "InstanceMatchCriteria": "targeted",
            "State": "active",
            "EndDateType": "unlimited",
            "CreateDate": self.clock.now,
            "ReservationType": "default",
            "Tags": [],
        } | changes
        self.all.append(made)
        return made

    def describe(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        shown = self.shown
        if ids := given.get("CapacityReservationIds"):
            found = [r for r in shown if r["CapacityReservationId"] in ids]
            if not found:
                raise error("InvalidCapacityReservationId.NotFound", "DescribeCapacityReservations")
            if found[0]["State"] == "pending" and len(self.new_states) > 1:
                self.new_states.pop(0)
                found[0]["State"] = self.new_states[0]
            return [dict(r) for r in found]
        found = shown
        for condition in given.get("Filters", []):
            key = condition["Name"].removeprefix("tag:")
            found = [r for r in found if any(t["Key"] == key and t["Value"] in condition["Values"] for t in r["Tags"])]
        return [dict(r) for r in found]

    def modify(self, given: dict[str, Any]) -> dict[str, Any]:
        reservation = self.by_id(given["CapacityReservationId"], "ModifyCapacityReservation")
        if reservation["State"] not in OPEN or given["EndDate"] <= self.clock.now:
            raise error("InvalidParameterValue", "ModifyCapacityReservation")
        reservation["EndDate"] = given["EndDate"]
        return {"Return": True}

    def cancel(self, given: dict[str, Any]) -> dict[str, Any]:
        reservation = self.by_id(given["CapacityReservationId"], "CancelCapacityReservation")
        if reservation["State"] not in OPEN:
            raise error("InvalidState", "CancelCapacityReservation")
        self._close(reservation, "cancelled")
        return {"Return": True}

    def enter(self, node: dict[str, Any], reservation_id: str) -> None:
        """An instance runs in a reservation from now on."""
        reservation = self.by_id(reservation_id, "RunInstances")
        assert reservation["AvailableInstanceCount"] > 0, "the reservation is full"
        reservation["AvailableInstanceCount"] -= 1
        node["CapacityReservationId"] = reservation_id

    def leave(self, node: dict[str, Any]) -> None:
        """An instance ends."""
        reservation_id = node.pop("CapacityReservationId", None)
        if reservation_id and not self.ended(reservation_id):
            self.by_id(reservation_id, "TerminateInstances")["AvailableInstanceCount"] += 1

    def ended(self, reservation_id: str) -> bool:
        return self.by_id(reservation_id, "DescribeInstances")["State"] not in OPEN

    def by_id(self, reservation_id: str, operation: str) -> dict[str, Any]:
        self._expire()
        for reservation in self.all:
            if reservation["CapacityReservationId"] == reservation_id:
                return reservation
        raise error("InvalidCapacityReservationId.NotFound", operation)

    @property
    def shown(self) -> list[dict[str, Any]]:
        self._expire()
        return [r for r in self.all if self.clock.now >= r["CreateDate"] + self.shown_after]

    @property
    def open(self) -> list[dict[str, Any]]:
        self._expire()
        return [r for r in self.all if r["State"] in OPEN]

    def _expire(self) -> None:
        for reservation in self.all:
            if reservation["State"] in OPEN and reservation.get("EndDate", self.clock.now) < self.clock.now:
                self._close(reservation, "expired")

    def _close(self, reservation: dict[str, Any], state: str) -> None:
        reservation["State"] = state
        # The room of instances that run on is theirs.
        self._take(reservation["AvailabilityZone"], -reservation["AvailableInstanceCount"])

    def _take(self, zone: str, count: int) -> None:
        if zone in self.room:
            self.room[zone] -= count
