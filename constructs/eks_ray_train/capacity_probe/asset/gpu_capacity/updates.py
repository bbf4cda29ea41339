"""An update that keeps the zone."""

from collections.abc import Callable, Mapping
from typing import Any

from .clients import Clients
from .growth import grow
from .hold_end import left_empty, reschedule
from .leftovers import sweep, sweep_quietly
from .outcome import Request
from .properties import STACK_TAG, Properties
from .stickiness import Choice, Kept
from .tags import HOLD_TAG, Reservation, first_node, held_for, tag_of

_MAKING = ("hold", "probe")
"""Modes that make reservations."""


def update(
    wanted: Properties, old: Mapping[str, Any], keep: Kept, now: Choice | None, request_id: str, clients: Clients
) -> tuple[str, str | None]:
    """Ask for what the group lacks, if anything; return the reason and the ids of what is held.

    An update that asks for nothing must not fail: it may be CloudFormation's, undoing one that did. Raises ProbeError,
    and boto3's errors.
    """
    choice, stack_name = keep.choice, wanted.tags[STACK_TAG]
    # Undoing a choice that succeeded leaves that one's hold to the Delete of its id.
    holds = {choice.hold} | ({now.hold} if now else set())

    def stays(reservation: Reservation) -> bool:
        # Nodes of another mode do not start in what is held: it would only bill. Those that run in it run on.
        return (
            wanted.mode == "hold" and tag_of(reservation, HOLD_TAG) in holds and first_node(reservation) <= wanted.count
        )

    grows = wanted.count > int(old["Count"]) and not keep.undoes
    looks = 2 if _may_hide(wanted, old, keep) else 1
    found = sweep(stack_name, stays, clients) if grows else sweep_quietly(stack_name, stays, clients, looks=looks)
    request = Request(id=request_id, hold=choice.hold, account=None, found=[r for r in found or [] if stays(r)])
    reasons = []
    if _minutes_changed(wanted, old) and not keep.undoes:
        reasons.append(reschedule(wanted, request, clients))
    if grows:
        reasons.append(grow(wanted, int(old["Count"]), choice, request, clients))
        found = sweep(stack_name, stays, clients)
    held = _held(found or [], wanted, choice, stays)
    reason = "; ".join(reasons) or "no input differs from those that chose this zone"
    also = left_empty(wanted, request, clients)
    if wanted.mode == "hold" and held is None and found is not None:
        also.append("nothing is held for these nodes")
    return "; ".join([f"kept: {reason}", *also]), held


def _may_hide(wanted: Properties, old: Mapping[str, Any], keep: Kept) -> bool:
    """Tell whether a function that died a moment ago may have made what EC2 does not show yet.

    Only an update that chooses or grows makes reservations. One that died was the same update, which then chooses or
    grows now, or the one that this undoes, which then is a new choice or a smaller group.
    """
    return (keep.undoes or wanted.count < int(old["Count"])) and (wanted.mode in _MAKING or old.get("Mode") in _MAKING)


def _minutes_changed(wanted: Properties, old: Mapping[str, Any]) -> bool:
    return "HoldMinutes" in old and wanted.hold_minutes not in (0, int(old["HoldMinutes"]))


def _held(
    found: list[dict[str, Any]], wanted: Properties, choice: Choice, stays: Callable[[Reservation], bool]
) -> str | None:
    if wanted.mode == "reservation":
        return wanted.reservation_id
    ids = sorted(r["CapacityReservationId"] for r in found if held_for(r, choice.hold) and stays(r))
    return ", ".join(ids) or None
