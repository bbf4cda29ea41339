"""Mode ``hold``: reserves the capacity and leaves it reserved for the nodes that are about to start in it.

A reservation that is full costs nothing beside its instances, so nothing releases it early: its end date does.
"""

from dataclasses import replace
from typing import Any

from .clients import Clients
from .hold_more import Grown, grow, missing_from
from .holding import active, held_of, join_or_cancel, reserve
from .leftovers import sweep
from .outcome import Outcome, Request
from .properties import STACK_TAG, Properties
from .reservation import tries_before
from .survey import first_with_room, survey
from .tags import held_for, nodes

_Taken = dict[str, Any] | Grown


def choose(wanted: Properties, request: Request, clients: Clients) -> Outcome:
    """Hold the whole group in the best zone where EC2 gives it, or take up what an earlier try holds there.

    Where nodes of the group run already, only those that are missing are asked for, under the hold in force.
    """
    earlier = active((r for r in held_of(request) if r["AvailabilityZone"] in wanted.candidates), clients)
    reservation: _Taken
    if earlier:
        reservation = earlier[0]
        zone, note = reservation["AvailabilityZone"], "taken up from an earlier try"
        table = f"{zone}: chosen ({note})"
    else:
        asked = survey(wanted, clients, request.here)
        zone, reservation, table = first_with_room(
            wanted, asked, lambda zone: _take(wanted, zone, request, clients), clients
        )
        note = asked.note
    if isinstance(reservation, Grown):
        return _gone_on(wanted, zone, table, reservation.note + note, request, clients)
    if not earlier:
        note = f"at least until {reservation['EndDate']:%H:%M} UTC{note}"
    join_or_cancel(reservation, wanted, clients)
    own = reservation["CapacityReservationId"]
    # An earlier try may have reserved elsewhere, which the search did not show until now.
    sweep(
        wanted.tags[STACK_TAG],
        lambda r: r["CapacityReservationId"] == own or not held_for(r, request.hold),
        clients,
    )
    return Outcome(zone=zone, table=table, reason=f"EC2 holds {wanted.wanted} in {zone} as {own}, {note}", held=own)


def _take(wanted: Properties, zone: str, request: Request, clients: Clients) -> _Taken | str:
    """Return a reservation of the whole group, or of what was missing where nodes run, or a refusal."""
    here = request.here
    if here is None or not here.running(zone):
        tries = tries_before(request.id, zone, request.found)
        return reserve(wanted, zone, nodes(1, wanted.count), tries, request, clients)
    going_on, running = replace(request, hold=here.hold), here.running(zone)
    first = missing_from(wanted, running, going_on, clients)
    grown = grow(wanted, zone, first, running, here.unreserved, going_on, clients)
    return grown.refused or grown


def _gone_on(wanted: Properties, zone: str, table: str, note: str, request: Request, clients: Clients) -> Outcome:
    assert request.here is not None  # _take
    hold = request.here.hold
    found = sweep(wanted.tags[STACK_TAG], lambda r: not held_for(r, request.hold), clients)
    held = ", ".join(sorted(r["CapacityReservationId"] for r in found if held_for(r, hold))) or None
    said = f"EC2 holds {held} for them" if held else "nothing is held for them"
    reason = f"{request.here.running(zone)} of {wanted.wanted} run in {zone} already, and {said}{note}"
    return Outcome(zone=zone, table=table, reason=reason, held=held, hold=hold)
