"""How each mode chooses a zone: one function a mode, in one table."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from . import existing, hold, messages
from .clients import Clients
from .outcome import Outcome, Request
from .properties import Properties
from .ranking import usable
from .reservation import prove, tries_before
from .survey import first_with_room, survey, survey_one


def _probe(wanted: Properties, request: Request, clients: Clients) -> Outcome:
    """Choose the best zone in which EC2 gives the whole group at this moment."""
    asked = survey(wanted, clients, request.here)
    zone, _, table = first_with_room(wanted, asked, lambda zone: _prove(wanted, zone, request, clients), clients)
    proved = replace(wanted, count=request.missing(wanted.count, zone))
    reason = (
        f"EC2 reserved {proved.wanted} in {zone}, and the reservation was cancelled at once{asked.note}"
        if proved.count
        else f"{wanted.wanted} run in {zone} already{asked.note}"
    )
    return Outcome(zone=zone, table=table, reason=reason)


def _prove(wanted: Properties, zone: str, request: Request, clients: Clients) -> str | None:
    missing = replace(wanted, count=request.missing(wanted.count, zone))
    if not missing.count:
        return None
    return prove(missing, zone, request.id, tries_before(request.id, zone, request.found), clients)


def _offerings(wanted: Properties, request: Request, clients: Clients) -> Outcome:
    """Choose the best zone by what can be read; capacity is not tried."""
    asked = survey(wanted, clients, request.here)
    zone = usable(asked.verdicts)[0].facts.zone
    return Outcome(
        zone=zone,
        table=messages.table(asked.verdicts, chosen=zone),
        reason=f"the best by offering, quota and placement score; its capacity was not tried{asked.note}",
    )


def _zone(wanted: Properties, request: Request, clients: Clients) -> Outcome:
    """Take the zone that the settings name, when the type is offered there and the quota allows the group."""
    assert wanted.zone is not None  # properties.check_mode
    survey_one(wanted, wanted.zone, clients, request.here)
    return Outcome(
        zone=wanted.zone,
        table=f"{wanted.zone}: chosen (fixed)",
        reason=f"fixed by the settings; {wanted.instance_type} is offered there, its capacity was not tried",
    )


MODES: Mapping[str, Callable[[Properties, Request, Clients], Outcome]] = {
    "hold": hold.choose,
    "probe": _probe,
    "offerings": _offerings,
    "zone": _zone,
    "reservation": existing.choose,
}
