"""Makes a capacity reservation, once for each intention, whatever breaks in between.

An unused reservation bills like its instances. So each carries the stack's name and the request's id as tags, by which
the next try finds it; a client token of request and zone, by which EC2 refuses to make it twice; and an end date, after
which EC2 ends it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from . import messages
from .clients import Clients
from .leftovers import cancel, cancel_leftovers, find, state_of
from .properties import STACK_TAG, Properties
from .refusals import code_of, explain
from .tags import REQUEST_TAG, is_open, tag_of

__all__ = [
    "ENDS_AFTER",
    "TIME_KEPT_MS",
    "QuotaRefusedError",
    "cancel_leftovers",
    "obtain",
    "prove",
    "settled",
    "tries_before",
]

ENDS_AFTER = timedelta(minutes=60)
"""The safety net when the function dies between making a proof and cancelling it: EC2 ends it by itself."""

TIME_KEPT_MS = 90_000
"""Time to have left before a reservation is made, so that it can be cancelled even where calls are retried."""

_REPLAYED = ("cancelled", "cancelling", "expired")
_TRIES = 5
_POLLS = 8
_POLL_SECONDS = 2.0
_QUOTA_CODES = ("InstanceLimitExceeded", "VcpuLimitExceeded")


class QuotaRefusedError(Exception):
    """EC2 counts more against the quota than was found before; the text is EC2's code."""


def tries_before(request_id: str, zone: str, found: Sequence[Mapping[str, Any]]) -> int:
    """Return how many reservations this request made in a zone already."""
    return sum(r["AvailabilityZone"] == zone and tag_of(r, REQUEST_TAG) == request_id for r in found)


def prove(wanted: Properties, zone: str, request_id: str, tries: int, clients: Clients) -> str | None:
    """Reserve the whole group in a zone and cancel it; return None when EC2 gave it, else why it did not.

    ``tries`` is the number of reservations that this request made in the zone before. Raises QuotaRefusedError, and
    ProbeError for an answer that another zone would not change.
    """
    got = obtain(wanted, zone, request_id, tries, clients, ends_after=ENDS_AFTER, tags={})
    if isinstance(got, str):
        return got
    cancel(got["CapacityReservationId"], got.get("EndDate"), clients)
    return None


def obtain(
    wanted: Properties,
    zone: str,
    request_id: str,
    tries: int,
    clients: Clients,
    *,
    ends_after: timedelta,
    tags: Mapping[str, str],
) -> dict[str, Any] | str:
    """Return an active reservation of the whole group, or why EC2 did not give it.

    An active one that an earlier try of the same request made in the zone counts. Raises as ``prove`` does; then, as
    with a reason, none is left open that the next search would not find.
    """
    for number in range(tries, tries + _TRIES):
        until = clients.now().replace(microsecond=0) + ends_after
        token = client_token(request_id, zone, number)
        try:
            made = clients.ec2.create_capacity_reservation(**request(wanted, zone, request_id, token, until, tags))
            reservation = made["CapacityReservation"]
        except ClientError as error:
            code = code_of(error)
            if code == "InsufficientInstanceCapacity" or code.startswith("ReservationCapacity"):
                return f"no capacity ({code})"
            if code in _QUOTA_CODES:
                raise QuotaRefusedError(code) from error
            if code != "IdempotentParameterMismatch":
                raise explain(error, clients.region, zone) from error
            # An earlier try used this token, and the search did not show its reservation yet.
            earlier = _shown(wanted, zone, request_id, number, tags, clients)
            if earlier is None:
                raise messages.not_shown(wanted, zone, clients.region) from error
            reservation = earlier
        except BotoCoreError as error:
            # No answer: the reservation may have been made all the same.
            lost = _shown(wanted, zone, request_id, number, tags, clients)
            if lost is not None and is_open(lost):
                cancel(lost["CapacityReservationId"], lost.get("EndDate"), clients)
            raise explain(error, clients.region) from error
        try:
            state = settled(reservation, clients)
        except Exception:
            cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
            raise
        if state == "active":
            return dict(reservation) | {"State": state}
        if state not in _REPLAYED:
            cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
            return f"no capacity (reservation {state})"
        # EC2 answers a token that it has seen with the reservation of that time, which has ended.
    return f"no proof ({_TRIES} client tokens were used before)"


def request(
    wanted: Properties, zone: str, request_id: str, token: str, until: datetime, tags: Mapping[str, str]
) -> dict[str, Any]:
    """Return the parameters of CreateCapacityReservation for the whole group in one zone."""
    all_tags = {**wanted.tags, REQUEST_TAG: request_id, **tags}
    parameters: dict[str, Any] = {
        "ClientToken": token,
        "InstanceType": wanted.instance_type,
        "InstanceCount": wanted.count,
        "InstancePlatform": "Linux/UNIX",
        "Tenancy": "default",
        "AvailabilityZone": zone,
        "InstanceMatchCriteria": "targeted",  # an open one is taken by any instance of the account that matches
        "EndDateType": "limited",
        "EndDate": until,
        "TagSpecifications": [
            {
                "ResourceType": "capacity-reservation",
                "Tags": [{"Key": key, "Value": value} for key, value in sorted(all_tags.items())],
            }
        ],
    }
    if wanted.placement_group_arn is not None:
        parameters["PlacementGroupArn"] = wanted.placement_group_arn
    return parameters


def client_token(request_id: str, zone: str, number: int) -> str:
    """Return EC2's idempotency token, 64 characters: the same for a call that is retried, another for a new try."""
    return hashlib.sha256(f"{request_id}/{zone}/{number}".encode()).hexdigest()


def _shown(
    wanted: Properties, zone: str, request_id: str, number: int, tags: Mapping[str, str], clients: Clients
) -> dict[str, Any] | None:
    """Return this request's reservation of try ``number`` in a zone once the search shows it, or None.

    A request that reserves for several intentions in one zone tells them by their ``tags``.
    """
    for _ in range(_POLLS):
        clients.sleep(_POLL_SECONDS)
        found = [
            r
            for r in find(wanted.tags[STACK_TAG], clients)
            if r["AvailabilityZone"] == zone and tag_of(r, REQUEST_TAG) == request_id
        ]
        same = [r for r in found if all(tag_of(r, key) == value for key, value in tags.items())]
        if same and len(found) > number:
            return next((r for r in same if is_open(r)), same[-1])
    return None


def settled(reservation: Mapping[str, Any], clients: Clients) -> str:
    """Return the state of a reservation once it is no longer pending, or ``pending`` after some seconds."""
    state = str(reservation["State"])
    for _ in range(_POLLS):
        if state != "pending":
            break
        clients.sleep(_POLL_SECONDS)
        state = state_of(reservation["CapacityReservationId"], clients) or state
    return state
