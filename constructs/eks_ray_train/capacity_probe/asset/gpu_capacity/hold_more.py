"""Holds nodes beside those that run: what is missing, and what running nodes take of it.

EC2 moves a running instance that targets a group into a reservation that joins the group, when it matches and the
instance is in none (EC2 user guide, "Capacity Reservation groups"). So after the end of the first hold the nodes that
run fill what was reserved for new ones, and it must be reserved once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .clients import Clients
from .holding import active, held_of, join_or_cancel, reserve
from .leftovers import find
from .log import log
from .outcome import Request
from .properties import STACK_TAG, Properties
from .reservation import TIME_KEPT_MS, tries_before
from .tags import Reservation, first_node, last_node, nodes, times_again

_MOST_TIMES_AGAIN = 2
_POLLS = 5
_POLL_SECONDS = 2.0
"""EC2 documents no time for the move: ten seconds are an assumption."""


@dataclass(frozen=True, kw_only=True)
class Grown:
    """Why EC2 gave nothing, or None; how many places were reserved again, and how many new nodes have none."""

    refused: str | None = None
    again: int = 0
    short: int = 0

    @property
    def note(self) -> str:
        """Return what to add to the reason."""
        again = f"; running nodes took {self.again} of them, which were reserved again" if self.again else ""
        return again + (f"; {self.short} new nodes start unheld, for running nodes took more" if self.short else "")


def missing_from(wanted: Properties, base: int, request: Request, clients: Clients) -> int:
    """Return the first node that is neither running nor held already, when ``base`` nodes run or were asked before."""
    return max([base, *(last_node(r) for r in active(held_of(request), clients))]) + 1


def grow(
    wanted: Properties, zone: str, first: int, base: int, unreserved: int, request: Request, clients: Clients
) -> Grown:
    """Hold the nodes from ``first`` to ``wanted.count`` in a zone beside those held.

    What an earlier try holds beyond ``base`` is made a member of the group as well. ``unreserved`` nodes run in no
    reservation.
    """
    beyond = [r for r in active(held_of(request), clients) if first_node(r) > base]
    if first <= wanted.count:
        more = replace(wanted, count=wanted.count - first + 1)
        tries = tries_before(request.id, zone, request.found)
        got = reserve(more, zone, nodes(first, wanted.count), tries, request, clients)
        if isinstance(got, str):
            return Grown(refused=got)
        beyond.append(got)
    for reservation in beyond:
        join_or_cancel(reservation, wanted, clients)
    return _again(wanted, zone, beyond, unreserved, request, clients) if beyond else Grown()


def _again(
    wanted: Properties,
    zone: str,
    beyond: Sequence[Reservation],
    unreserved: int,
    request: Request,
    clients: Clients,
) -> Grown:
    """Reserve once more what nodes that run already have taken of ``beyond``."""
    held = list(beyond)
    needed = sum(int(r["TotalInstanceCount"]) for r in beyond if not times_again(r))
    made = 0
    while True:
        free, found = _free(wanted, held, unreserved, clients)
        times = max(map(times_again, held))
        if free >= needed or times >= _MOST_TIMES_AGAIN:
            return Grown(again=made, short=max(0, needed - free))
        log("warning", "running nodes took what was reserved for new ones", taken=needed - free, times=times)
        more = replace(wanted, count=needed - free)
        tag = nodes(first_node(held[0]), wanted.count, times + 1)
        got = reserve(more, zone, tag, _tries(request, zone, held, found), request, clients)
        if isinstance(got, str):
            return Grown(refused=f"running nodes took what was reserved, and then {got}", again=made)
        made += more.count
        join_or_cancel(got, wanted, clients)
        held.append(got)


def _free(
    wanted: Properties, held: Sequence[Reservation], unreserved: int, clients: Clients
) -> tuple[int, list[dict[str, Any]]]:
    """Return the places that are left once no more nodes can move, or after some seconds; and what EC2 shows."""
    total = sum(int(r["TotalInstanceCount"]) for r in held)
    ids = {r["CapacityReservationId"] for r in held}
    for poll in range(_POLLS + 1):
        found = find(wanted.tags[STACK_TAG], clients)
        used = sum(
            int(r["TotalInstanceCount"]) - int(r["AvailableInstanceCount"])
            for r in found
            if r["CapacityReservationId"] in ids
        )
        if used >= min(unreserved, total) or poll == _POLLS or clients.remaining_ms() < TIME_KEPT_MS:
            break
        clients.sleep(_POLL_SECONDS)
    return total - used, found


def _tries(request: Request, zone: str, held: Sequence[Reservation], found: Sequence[dict[str, Any]]) -> int:
    # EC2 may not show yet what was made a moment ago, and its client token is used all the same.
    shown = {r["CapacityReservationId"] for r in found}
    return tries_before(request.id, zone, [*found, *(r for r in held if r["CapacityReservationId"] not in shown)])
