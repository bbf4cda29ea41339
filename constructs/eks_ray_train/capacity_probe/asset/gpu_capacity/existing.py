"""Mode ``reservation``: an On-Demand Capacity Reservation or a Capacity Block that exists already."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from . import existing_texts as texts
from .clients import Clients
from .outcome import Outcome, Request
from .paging import items
from .properties import Properties
from .refusals import code_of
from .survey import check_pinned

SHORTEST = timedelta(hours=1)
"""What must be left of it.

EC2 begins to terminate the instances of a Capacity Block 30 minutes before its end (EC2 user guide, "Monitor Capacity
Blocks using EventBridge").
"""


def choose(wanted: Properties, request: Request, clients: Clients) -> Outcome:
    """Take the reservation's zone, once it is what the nodes need. Raises ProbeError that says what is not."""
    found = _read(wanted, clients)
    zone = _check(found, wanted, clients)
    check_pinned(zone, request.here)
    own = request.here.running_in(wanted.reservation_id) if request.here else 0
    _room(found, wanted.count - own, wanted)
    return Outcome(
        zone=zone,
        table=f"{zone}: chosen ({wanted.reservation_id})",
        reason=texts.reason(found, wanted, request.account, own),
        held=wanted.reservation_id,
    )


def grow(wanted: Properties, base: int, clients: Clients) -> None:
    """Check that the reservation has room beyond ``base`` nodes. Raises ProbeError."""
    found = _read(wanted, clients)
    _check(found, wanted, clients)
    _room(found, wanted.count - base, wanted)


def _read(wanted: Properties, clients: Clients) -> dict[str, Any]:
    try:
        found = list(
            items(
                clients.ec2.describe_capacity_reservations,
                "CapacityReservations",
                CapacityReservationIds=[wanted.reservation_id],
            )
        )
    except ClientError as error:
        if not code_of(error).startswith("InvalidCapacityReservationId"):
            raise
        found = []
    if not found:
        raise texts.unknown(wanted, clients.region)
    return found[0]


def _check(found: Mapping[str, Any], wanted: Properties, clients: Clients) -> str:
    """Return the reservation's zone."""
    block = found.get("ReservationType") == "capacity-block"
    if block != wanted.capacity_block:
        raise texts.other_kind(wanted, block)
    if found["State"] != "active":
        raise texts.not_active(wanted, found)
    if found["InstanceType"] != wanted.instance_type:
        raise texts.differs(wanted, "instance type", found["InstanceType"], wanted.instance_type)
    if found["InstancePlatform"] != "Linux/UNIX":
        raise texts.differs(wanted, "platform", found["InstancePlatform"], "Linux/UNIX")
    if found["Tenancy"] != "default":
        raise texts.differs(wanted, "tenancy", found["Tenancy"], "default")
    if found.get("PlacementGroupArn"):
        raise texts.differs(wanted, "placement group", found["PlacementGroupArn"], "none, for the nodes are in none")
    zone = str(found["AvailabilityZone"])
    if zone not in wanted.candidates:
        raise texts.zone_without_subnet(wanted, zone)
    end = found.get("EndDate")
    if end is not None and end - clients.now() < SHORTEST:
        raise texts.ends_soon(wanted, end, SHORTEST)
    return zone


def _room(found: Mapping[str, Any], needed: int, wanted: Properties) -> None:
    if found["TotalInstanceCount"] < wanted.count:
        raise texts.too_small(wanted, found["TotalInstanceCount"])
    if found["AvailableInstanceCount"] < needed:
        raise texts.full(wanted, found["AvailableInstanceCount"], found["TotalInstanceCount"], needed)
