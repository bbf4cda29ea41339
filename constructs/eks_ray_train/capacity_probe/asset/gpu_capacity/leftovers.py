"""Finds a stack's reservations by their tag, and cancels those that nobody wants any more."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from . import messages
from .clients import Clients
from .errors import ProbeError
from .log import log
from .paging import items
from .properties import STACK_TAG
from .refusals import code_of
from .tags import OPEN, Reservation, is_open

SHOWN_AFTER_S = 10.0
"""How long EC2 may take to show a new reservation in a search. An assumption: EC2 documents none."""


def find(stack_name: str, clients: Clients) -> list[dict[str, Any]]:
    """Return every reservation with the stack's tag, ended ones included for as long as EC2 shows them."""
    return list(
        items(
            clients.ec2.describe_capacity_reservations,
            "CapacityReservations",
            Filters=[{"Name": f"tag:{STACK_TAG}", "Values": [stack_name]}],
        )
    )


def sweep(stack_name: str, keep: Callable[[Reservation], bool], clients: Clients) -> list[dict[str, Any]]:
    """Cancel every open reservation of the stack that ``keep`` does not keep; return all as they were found.

    One that cannot be cancelled does not stop the others; then raises ProbeError, which names the first.
    """
    found = find(stack_name, clients)
    failed: list[ProbeError] = []
    for reservation in found:
        if is_open(reservation) and not keep(reservation):
            log("warning", "cancelling a reservation that nobody wants any more", reservation=reservation)
            try:
                cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
            except ProbeError as error:
                log("error", error.kind, **error.details)
                failed.append(error)
    if failed:
        raise failed[0]
    return found


def sweep_quietly(
    stack_name: str, keep: Callable[[Reservation], bool], clients: Clients, *, looks: int
) -> list[dict[str, Any]] | None:
    """Sweep for an event that must not fail, ``looks`` times; return what the last look found, or None.

    The second look finds what a function that died a moment ago made, and the search did not show yet.
    """
    found = None
    if not stack_name:
        log("error", "could not cancel leftover reservations", error=f"no tag {STACK_TAG} among the properties")
        return found
    for look in range(looks):
        if look:
            clients.sleep(SHOWN_AFTER_S)
        try:
            found = sweep(stack_name, keep, clients)
        except Exception as error:
            log("error", "could not cancel leftover reservations", error=str(error))
    return found


def cancel_leftovers(stack_name: str, clients: Clients) -> list[dict[str, Any]]:
    """Cancel every open reservation with the stack's tag, and return all that carry it, as they were found."""
    return sweep(stack_name, lambda reservation: False, clients)


def state_of(reservation_id: str, clients: Clients) -> str | None:
    """Return a reservation's state, or None where EC2 does not show it."""
    try:
        found = list(
            items(
                clients.ec2.describe_capacity_reservations,
                "CapacityReservations",
                CapacityReservationIds=[reservation_id],
            )
        )
    except ClientError as error:
        if code_of(error).startswith("InvalidCapacityReservationId"):
            return None
        raise
    return str(found[0]["State"]) if found else None


def cancel(reservation_id: str, until: datetime | None, clients: Clients) -> None:
    """Cancel a reservation; raises ProbeError, which names it, when it may go on billing."""
    try:
        clients.ec2.cancel_capacity_reservation(CapacityReservationId=reservation_id)
    except (BotoCoreError, ClientError) as error:
        try:
            state = state_of(reservation_id, clients)
            ended = state is not None and state not in OPEN
        except (BotoCoreError, ClientError):
            ended = False
        if not ended:
            raise messages.not_cancelled(reservation_id, until, clients.region, str(error)) from error
