"""A capacity reservation as proof: made, then cancelled at once.

An unused reservation bills like its instances, so one must never stay behind, whatever breaks in between: each carries
the stack's name and the request's id as tags, by which the next try finds it, and an end date, after which EC2 ends it.
"""

import hashlib
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from . import messages
from .clients import Clients
from .log import log
from .properties import STACK_TAG, Properties
from .questions import items
from .refusals import code_of, explain

REQUEST_TAG = "eks-ray-train:request"
ENDS_AFTER = timedelta(minutes=60)
"""The safety net when the function dies between making and cancelling: EC2 ends the reservation by itself."""

TIME_KEPT_MS = 90_000
"""Time to have left before a reservation is made, so that it can be cancelled even where calls are retried."""

_OPEN = ("active", "pending")
_REPLAYED = ("cancelled", "cancelling", "expired")
_TRIES = 5
_POLLS = 5
_POLL_SECONDS = 2.0
_QUOTA_CODES = ("InstanceLimitExceeded", "VcpuLimitExceeded")


class QuotaRefusedError(Exception):
    """EC2 counts more against the quota than was found before; the text is EC2's code."""


def cancel_leftovers(stack_name: str, clients: Clients) -> list[dict[str, Any]]:
    """Cancel every open reservation with the stack's tag, and return all that carry it, ended ones included."""
    found = list(
        items(
            clients.ec2.describe_capacity_reservations,
            "CapacityReservations",
            Filters=[{"Name": f"tag:{STACK_TAG}", "Values": [stack_name]}],
        )
    )
    for reservation in found:
        if reservation["State"] in _OPEN:
            log("warning", "cancelling a reservation that an earlier try left", reservation=reservation)
            _cancel(reservation["CapacityReservationId"], reservation.get("EndDate"), clients)
    return found


def tries_before(request_id: str, found: list[dict[str, Any]]) -> Counter[str]:
    """Return how many reservations this request made already, by zone."""
    tag = {"Key": REQUEST_TAG, "Value": request_id}
    return Counter(reservation["AvailabilityZone"] for reservation in found if tag in reservation.get("Tags", []))


def prove(wanted: Properties, zone: str, request_id: str, tries: int, clients: Clients) -> str | None:
    """Reserve the whole group in a zone and cancel it; return None when EC2 gave it, else why it did not.

    ``tries`` is the number of reservations that this request made in the zone before. Raises QuotaRefusedError, and
    ProbeError for an answer that another zone would not change.
    """
    for number in range(tries, tries + _TRIES):
        until = clients.now().replace(microsecond=0) + ENDS_AFTER
        token = client_token(request_id, zone, number)
        try:
            made = clients.ec2.create_capacity_reservation(**request(wanted, zone, request_id, token, until))
        except ClientError as error:
            code = code_of(error)
            if code == "InsufficientInstanceCapacity" or code.startswith("ReservationCapacity"):
                return f"no capacity ({code})"
            if code in _QUOTA_CODES:
                raise QuotaRefusedError(code) from error
            if code == "IdempotentParameterMismatch":
                # An earlier try used this token, and the search did not show its reservation yet.
                clients.sleep(_POLL_SECONDS)
                cancel_leftovers(wanted.tags[STACK_TAG], clients)
                continue
            raise explain(error, clients.region, zone) from error
        except BotoCoreError as error:
            # No answer: the reservation may have been made all the same.
            cancel_leftovers(wanted.tags[STACK_TAG], clients)
            raise explain(error, clients.region) from error
        reservation = made["CapacityReservation"]
        try:
            state = _settled(reservation, clients)
        finally:
            _cancel(reservation["CapacityReservationId"], until, clients)
        if state == "active":
            return None
        if state not in _REPLAYED:
            return f"no capacity (reservation {state})"
        # EC2 answers a token that it has seen with the reservation of that time, which proves nothing now.
    return f"no proof ({_TRIES} client tokens were used before)"


def request(wanted: Properties, zone: str, request_id: str, token: str, until: datetime) -> dict[str, Any]:
    """Return the parameters of CreateCapacityReservation for the whole group in one zone."""
    tags = {**wanted.tags, REQUEST_TAG: request_id}
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
                "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
            }
        ],
    }
    if wanted.placement_group_arn is not None:
        parameters["PlacementGroupArn"] = wanted.placement_group_arn
    return parameters


def client_token(request_id: str, zone: str, number: int) -> str:
    """Return EC2's idempotency token, 64 characters: the same for a call that is retried, another for a new try."""
    return hashlib.sha256(f"{request_id}/{zone}/{number}".encode()).hexdigest()


def _settled(reservation: dict[str, Any], clients: Clients) -> str:
    """Return the state of a new reservation once it is no longer pending, or ``pending`` after some seconds."""
    state = str(reservation["State"])
    for _ in range(_POLLS):
        if state != "pending":
            break
        clients.sleep(_POLL_SECONDS)
        state = _state(reservation["CapacityReservationId"], clients) or state
    return state


def _state(reservation_id: str, clients: Clients) -> str | None:
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


def _cancel(reservation_id: str, until: datetime | None, clients: Clients) -> None:
    """Cancel a reservation; raises ProbeError, which names it, when it may go on billing."""
    try:
        clients.ec2.cancel_capacity_reservation(CapacityReservationId=reservation_id)
    except (BotoCoreError, ClientError) as error:
        try:
            ended = _state(reservation_id, clients) not in _OPEN
        except (BotoCoreError, ClientError):
            ended = False
        if not ended:
            raise messages.not_cancelled(reservation_id, until, clients.region, str(error)) from error
