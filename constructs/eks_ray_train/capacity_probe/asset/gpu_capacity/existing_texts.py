"""What a person reads about a reservation that the settings name."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from .errors import ProbeError
from .properties import Properties


def reason(found: Mapping[str, Any], wanted: Properties, account: str | None, own: int) -> str:
    """Say what was found, that ``own`` nodes run in it, and what may take it away from the nodes."""
    kind = "Capacity Block" if wanted.capacity_block else "capacity reservation"
    parts = [f"{kind} {wanted.reservation_id} has {found['AvailableInstanceCount']} x {wanted.instance_type} free"]
    if own:
        parts.append(f"{own} of the group's nodes run in it")
    if found.get("EndDate"):
        parts.append(f"it ends {found['EndDate']:%Y-%m-%d %H:%M} UTC")
    if account is not None and found.get("OwnerId") not in (None, account):
        parts.append(f"account {found['OwnerId']} owns it and may end it")
    if found.get("InstanceMatchCriteria") == "open":
        parts.append("it is open, so any instance of the account that matches may take its room")
    return "; ".join(parts)


def unknown(wanted: Properties, region: str) -> ProbeError:
    """Say that EC2 does not know it."""
    return _error(
        f"ReservationId is {wanted.reservation_id!r}: expected a reservation that this account has in {region}, or "
        "that is shared with it. See: aws ec2 describe-capacity-reservations "
        f"--region {region} --filters Name=state,Values=active"
    )


def other_kind(wanted: Properties, block: bool) -> ProbeError:
    """Say that it is the other kind, which the launch template has to know."""
    is_, other = ("a Capacity Block", "capacity-block") if block else ("an On-Demand reservation", "on-demand")
    return _error(f'{wanted.reservation_id} is {is_}: set capacity.reservation_type = "{other}" and deploy again.')


def not_active(wanted: Properties, found: Mapping[str, Any]) -> ProbeError:
    """Say which state it is in."""
    to_come = found["State"] in ("scheduled", "pending", "payment-pending")
    starts = f", and starts {found['StartDate']:%Y-%m-%d %H:%M} UTC" if to_come and found.get("StartDate") else ""
    when = "Deploy again once it is active." if to_come else "Name another one."
    return _error(f"{wanted.reservation_id} is {found['State']}{starts}: expected active. {when}", state=found["State"])


def differs(wanted: Properties, what: str, is_: str, expected: str) -> ProbeError:
    """Say which attribute keeps the nodes out of it."""
    return _error(
        f"{wanted.reservation_id} has {what} {is_}: expected {expected}. Nodes start in a reservation only when all "
        "attributes match: name another one, or change the settings."
    )


def zone_without_subnet(wanted: Properties, zone: str) -> ProbeError:
    """Say that the VPC has no subnet where it is."""
    candidates = ", ".join(sorted(wanted.candidates))
    return _error(
        f"{wanted.reservation_id} is in {zone}: expected one of the zones that have a subnet ({candidates}). Name "
        "another one, or build the network with that zone."
    )


def ends_soon(wanted: Properties, end: datetime, shortest: timedelta) -> ProbeError:
    """Say that hardly anything is left of it."""
    return _error(
        f"{wanted.reservation_id} ends {end:%Y-%m-%d %H:%M} UTC: expected at least "
        f"{shortest // timedelta(minutes=1)} minutes from now. Extend it, or name another one."
    )


def too_small(wanted: Properties, total: int) -> ProbeError:
    """Say that it is for fewer instances than the group has."""
    return _error(
        f"{wanted.reservation_id} is for {total} instances: expected at least {wanted.count}. Enlarge it, or lower "
        "gpu_nodes.count.",
        total=total,
    )


def full(wanted: Properties, available: int, total: int, needed: int) -> ProbeError:
    """Say that others run in it."""
    return _error(
        f"{wanted.reservation_id} is full: {available} of {total} instances are free, expected {needed}. End what runs "
        "in it, enlarge it, or name another one.",
        available=available,
        total=total,
        needed=needed,
    )


def _error(reason: str, **details: object) -> ProbeError:
    return ProbeError("reservation", reason, **details)
