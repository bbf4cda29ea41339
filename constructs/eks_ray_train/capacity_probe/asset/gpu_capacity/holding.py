"""What mode ``hold`` is made of: reservations of a hold, active ones, and their way into the group."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from .clients import Clients
from .leftovers import cancel
from .membership import join
from .outcome import Request
from .properties import Properties
from .reservation import obtain, settled
from .tags import HOLD_TAG, NODES_TAG, Reservation, held_for


def held_of(request: Request) -> list[dict[str, Any]]:
    """Return the open reservations of a request's hold."""
    return [r for r in request.found if held_for(r, request.hold)]


def reserve(
    wanted: Properties, zone: str, nodes: str, tries: int, request: Request, clients: Clients
) -> dict[str, Any] | str:
    """Reserve ``wanted.count`` instances for the nodes of a tag; return the reservation, or why EC2 gave none."""
    return obtain(
        wanted,
        zone,
        request.id,
        tries,
        clients,
        ends_after=timedelta(minutes=wanted.hold_minutes),
        tags={HOLD_TAG: request.hold, NODES_TAG: nodes},
    )


def active(reservations: Iterable[dict[str, Any]], clients: Clients) -> list[dict[str, Any]]:
    """Return those that are active, or get so; cancel the others, which were pending when the function died."""
    found = []
    for reservation in reservations:
        if settled(reservation, clients) == "active":
            found.append(reservation)
        else:
            cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
    return found


def join_or_cancel(reservation: Reservation, wanted: Properties, clients: Clients) -> None:
    """Make a reservation a member of the group, or cancel it and raise: nodes would start beside it."""
    assert wanted.group_arn is not None  # properties.parse
    try:
        join(reservation, wanted.group_arn, clients)
    except Exception:
        cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
        raise
