"""Create, update and delete, as the CDK provider framework calls them."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .errors import ProbeError
from .here import look
from .leftovers import sweep, sweep_quietly
from .log import log
from .modes import MODES
from .outcome import Request
from .properties import STACK_TAG, Properties, parse, stack_name_of
from .questions import ask_nodes
from .refusals import explain
from .staying import stay
from .stickiness import Choice, choose, current, hold_of, kept
from .sweeper import SWEEPER_TYPE, on_sweeper_event
from .tags import HOLD_TAG, REQUEST_TAG, Reservation, tag_of
from .undoing import undoing
from .updates import update


def on_event(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Return the answer to one event: PhysicalResourceId and, but for a delete, Data.

    Data holds AvailabilityZone, SubnetId, ReservationId (``none`` where nothing is held), Table (every zone and why it
    was not taken) and Reason. Raises ProbeError, which is in the log in full.
    """
    log("info", "request", **{name: event.get(name) for name in _LOGGED})
    if event.get("ResourceType") == SWEEPER_TYPE:
        return on_sweeper_event(event, clients)
    if event["RequestType"] == "Delete":
        return _delete(event, clients)
    try:
        answer = _answer(event, clients)
    except (BotoCoreError, ClientError) as error:
        explained = explain(error, clients.region)
        log("error", explained.kind, **explained.details)
        raise explained from error
    except ProbeError as error:
        log("error", error.kind, **error.details)
        raise
    log("info", "answer", **answer)
    return answer


# Not ResponseURL: whoever has it can answer in the function's place.
_LOGGED = (
    "RequestType",
    "RequestId",
    "StackId",
    "PhysicalResourceId",
    "ResourceProperties",
    "OldResourceProperties",
)


def _answer(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    wanted = parse(event["ResourceProperties"])
    if event["RequestType"] == "Create":
        return _choose(event, wanted, None, clients)
    physical_id, old = event["PhysicalResourceId"], event["OldResourceProperties"]
    keep = kept(physical_id, old, event["ResourceProperties"], wanted, lambda: undoing(str(event["StackId"]), clients))
    if keep is None:
        return _choose(event, wanted, current(physical_id), clients)
    reason, held = update(wanted, old, keep, current(physical_id), event["RequestId"], clients)
    return _said(keep.choice, keep.physical_id, f"{keep.choice.zone}: kept", reason, held)


def _choose(event: Mapping[str, Any], wanted: Properties, before: Choice | None, clients: Clients) -> dict[str, Any]:
    hold = hold_of(event["RequestId"])
    # The choice in force keeps its hold: its nodes run until CloudFormation deletes the old id.
    stays = {hold} | ({before.hold} if before else set())
    # First, for what an earlier try left takes capacity and quota.
    found = sweep(wanted.tags[STACK_TAG], lambda r: tag_of(r, HOLD_TAG) in stays, clients)
    new = event["ResourceProperties"]
    here = look(before, event["OldResourceProperties"], new, wanted, clients) if before else None
    request = Request(id=event["RequestId"], hold=hold, account=_account(event), found=found, here=here)
    outcome = stay(wanted, request) or MODES[wanted.mode](wanted, request, clients)
    choice = choose(outcome.zone, wanted.subnets_by_zone[outcome.zone], new, outcome.hold or hold)
    physical_id = choice.physical_id(event["PhysicalResourceId"] if before else "")
    return _said(choice, physical_id, outcome.table, outcome.reason, outcome.held)


def _said(choice: Choice, physical_id: str, table: str, reason: str, held: str | None) -> dict[str, Any]:
    return {
        "PhysicalResourceId": physical_id,
        "Data": {
            "AvailabilityZone": choice.zone,
            "SubnetId": choice.subnet_id,
            "ReservationId": held or "none",
            "Table": table,
            "Reason": reason,
        },
    }


def _delete(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Cancel what the id holds; a stack that cannot be deleted is worse than a reservation that ends by itself.

    CloudFormation also deletes the id of a choice that another one has replaced: what that one holds stays. Where both
    are in one zone they share a hold: while nodes run there, what they fill stays, which costs nothing beside them, and
    what was added to the hold. (With the stack, the sweeper's Delete follows, and leaves nothing.)
    """
    gone, nodes = current(event["PhysicalResourceId"]), _nodes(event, clients)
    filled = {node.get("CapacityReservationId") for node in nodes}

    def keep(reservation: Reservation) -> bool:
        hold = tag_of(reservation, HOLD_TAG)
        if gone is None or hold != gone.hold:
            return hold is not None
        added = hold_of(tag_of(reservation, REQUEST_TAG) or "") != hold
        return reservation["CapacityReservationId"] in filled or (added and bool(nodes))

    sweep_quietly(stack_name_of(event["ResourceProperties"]), keep, clients, looks=1)
    return {"PhysicalResourceId": event["PhysicalResourceId"]}


def _nodes(event: Mapping[str, Any], clients: Clients) -> list[dict[str, Any]]:
    """Return the nodes that run where an old id's choice is; none where that cannot be read."""
    gone = current(event["PhysicalResourceId"])
    try:
        return ask_nodes(str(event["ResourceProperties"]["InstanceType"]), gone.subnet_id, clients) if gone else []
    except Exception as error:
        log("error", "could not read which nodes run", error=str(error))
        return []


def _account(event: Mapping[str, Any]) -> str | None:
    parts = str(event.get("StackId")).split(":")
    return parts[4] if len(parts) > 4 else None
