"""Create, update and delete, as the CDK provider framework calls them."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .errors import ProbeError
from .log import log
from .modes import MODES
from .properties import STACK_TAG, parse
from .refusals import explain
from .reservation import cancel_leftovers
from .stickiness import Choice, choose, current, kept


def on_event(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Return the answer to one event: PhysicalResourceId and, but for a delete, Data.

    Data holds AvailabilityZone, SubnetId, Table (every zone and why it was not taken) and Reason. Raises ProbeError,
    which is in the log in full.
    """
    log("info", "request", **{name: event.get(name) for name in _LOGGED})
    if event["RequestType"] == "Delete":
        return _delete(event, clients)
    try:
        answer = _update(event, clients) if event["RequestType"] == "Update" else _choose(event, clients)
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


def _choose(event: Mapping[str, Any], clients: Clients, before: Choice | None = None) -> dict[str, Any]:
    raw = event["ResourceProperties"]
    wanted = parse(raw)
    outcome = MODES[wanted.mode](wanted, event["RequestId"], clients)
    choice = choose(outcome.zone, wanted.subnets_by_zone[outcome.zone], raw)
    return _answer(choice, choice.physical_id(before), outcome.table, outcome.reason)


def _update(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    physical_id, new = event["PhysicalResourceId"], event["ResourceProperties"]
    parse(new)
    keep = kept(physical_id, event["OldResourceProperties"], new)
    if keep is None:
        return _choose(event, clients, before=current(physical_id))
    choice, same_id = keep
    return _answer(choice, same_id, f"{choice.zone}: kept", "kept: no input differs from those that chose this zone")


def _answer(choice: Choice, physical_id: str, table: str, reason: str) -> dict[str, Any]:
    return {
        "PhysicalResourceId": physical_id,
        "Data": {
            "AvailabilityZone": choice.zone,
            "SubnetId": choice.subnet_id,
            "Table": table,
            "Reason": reason,
        },
    }


def _delete(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Cancel what is left; a stack that cannot be deleted is worse than a reservation that ends by itself."""
    try:
        cancel_leftovers(event["ResourceProperties"]["Tags"][STACK_TAG], clients)
    except Exception as error:
        log("error", "could not cancel leftover reservations", error=str(error))
    return {"PhysicalResourceId": event["PhysicalResourceId"]}
