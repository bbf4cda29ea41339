"""A new choice that the nodes which run have made already."""

from .outcome import Outcome, Request
from .properties import Properties
from .tags import held_for


def stay(wanted: Properties, request: Request) -> Outcome | None:
    """Return the zone in which the whole group runs, or None where a zone must be looked for.

    Moving nodes that run costs their work, so other candidates alone move nobody: the token asks for that. A
    reservation that the settings name is looked at all the same.
    """
    here = request.here
    if here is None or here.moves or wanted.mode == "reservation" or here.zone not in wanted.candidates:
        return None
    if wanted.zone not in (None, here.zone) or request.missing(wanted.count, here.zone):
        return None
    held = ", ".join(sorted(r["CapacityReservationId"] for r in request.found if held_for(r, here.hold)))
    if wanted.mode != "hold":
        said = ""
    else:
        said = f", and EC2 holds {held} for them" if held else ", and nothing is held for them"
    return Outcome(
        zone=here.zone,
        table=f"{here.zone}: chosen (the nodes run there)",
        reason=f"{wanted.wanted} run in {here.zone} already{said}",
        held=held if wanted.mode == "hold" and held else None,
        hold=here.hold,
    )
