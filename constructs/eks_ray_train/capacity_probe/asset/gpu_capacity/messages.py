"""Every text that a person reads: what is wrong, then what to do."""

from collections.abc import Iterable
from datetime import datetime

from .errors import ProbeError
from .properties import Properties
from .quota import Quota
from .ranking import Verdict


def table(verdicts: Iterable[Verdict], chosen: str | None = None) -> str:
    """Return one line with every zone, best first, and the reason of each rejected one."""
    return "; ".join(_row(verdict, chosen) for verdict in verdicts)


def _row(verdict: Verdict, chosen: str | None) -> str:
    facts = verdict.facts
    if verdict.rejected is not None:
        return f"{facts.zone}: {verdict.rejected}"
    score = "unknown" if facts.score is None else facts.score
    return f"{facts.zone}: {'chosen' if facts.zone == chosen else 'not tried'} (score {score})"


def quota_exceeded(wanted: Properties, quota: Quota, region: str) -> ProbeError:
    """Say that the instances that run leave too little of the quota."""
    return ProbeError(
        "quota",
        f"vCPU quota too small: {wanted.wanted} need {wanted.vcpus_needed} vCPUs, but quota {quota.code} in {region} "
        f"is {quota.limit} and {quota.used} are in use. "
        + _increase(quota.code, quota.used + wanted.vcpus_needed, region),
        needed=wanted.vcpus_needed,
        limit=quota.limit,
        used=quota.used,
    )


def quota_refused(wanted: Properties, quota: Quota, region: str, code: str) -> ProbeError:
    """Say that EC2 counts more against the quota than the instances that run."""
    return ProbeError(
        "quota",
        f"EC2 refused {wanted.wanted} with {code}: they need {wanted.vcpus_needed} vCPUs, quota {quota.code} in "
        f"{region} is {quota.limit}, instances use {quota.used}, and unused capacity reservations count as well. "
        "Cancel those, or: " + _increase(quota.code, quota.limit + wanted.vcpus_needed, region),
        needed=wanted.vcpus_needed,
        limit=quota.limit,
        used=quota.used,
        code=code,
    )


def _increase(code: str, desired: int, region: str) -> str:
    return (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {code} "
        f"--desired-value {desired} --region {region}"
    )


def not_offered(wanted: Properties, offered: Iterable[str], region: str) -> ProbeError:
    """Say that no candidate zone has the instance type, and which zones have it."""
    elsewhere = sorted(offered)
    remedy = (
        f"It is offered in {', '.join(elsewhere)}: make one of these a candidate, with a subnet."
        if elsewhere
        else f"No zone of {region} offers it: choose another region or instance type."
    )
    candidates = ", ".join(sorted(wanted.candidates))
    return ProbeError(
        "not-offered", f"{wanted.instance_type} is offered in none of the candidate zones ({candidates}). {remedy}"
    )


def zone_not_offered(wanted: Properties, zone: str, offered: Iterable[str]) -> ProbeError:
    """Say that the fixed zone does not have the instance type, and which zones have it."""
    elsewhere = ", ".join(sorted(offered)) or "no zone of the region"
    return ProbeError(
        "not-offered", f"Zone is {zone!r}: expected a zone that offers {wanted.instance_type}, which are: {elsewhere}."
    )


def no_capacity(wanted: Properties, verdicts: Iterable[Verdict], region: str) -> ProbeError:
    """Say what each zone answered."""
    rows = table(verdicts)
    return ProbeError(
        "no-capacity",
        f"No zone of {region} has room for {wanted.wanted} now. {rows}. "
        "Deploy again later, or with more zones, another instance type or another region.",
        table=rows,
    )


def no_room_to_grow(more: Properties, zone: str, reason: str) -> ProbeError:
    """Say that the zone of the nodes that run has no room for more."""
    return ProbeError(
        "no-capacity",
        f"{zone} has no room for {more.wanted} more: {reason}. The nodes that run there stay. Deploy again later, or "
        "with gpu_nodes.count as it was; nodes in another zone need capacity.force_token, which replaces all of them.",
        zone=zone,
        answer=reason,
    )


def pinned(zone: str, rest: str) -> ProbeError:
    """Say that a cluster placement group is in one zone while instances run in it."""
    return ProbeError(
        "placement-group",
        f"The placement group's nodes run in {zone}; destroy Gpu first: a cluster placement group is in one zone, and "
        f"new nodes would start before the old ones end. {rest}.",
        zone=zone,
    )


def not_authorised(action: str, region: str, said: str) -> ProbeError:
    """Name the action that is missing."""
    return ProbeError(
        "not-authorised",
        f"Not authorised: the capacity probe's role may not call {action} in {region}. Allow it in the role's policy, "
        "its permissions boundary and the organisation's service control policies.",
        action=action,
        said=said,
    )


def out_of_time(verdicts: Iterable[Verdict], remaining_ms: int, needed_ms: int) -> ProbeError:
    """Say how far the search came."""
    rows = table(verdicts)
    return ProbeError(
        "out-of-time",
        f"Out of time: {remaining_ms // 1000} s are left, and {needed_ms // 1000} s are kept for making a reservation "
        f"and cancelling it. So far: {rows}. Deploy again.",
        table=rows,
    )


def not_joined(reservation_id: str, zone: str, region: str, said: str) -> ProbeError:
    """Say that time ran out while a reservation was to become a member of the group."""
    return ProbeError(
        "out-of-time",
        f"Out of time: {reservation_id} was reserved in {zone} and cancelled again, because EC2 in {region} did not "
        f"show it in the stack's resource group: {said}. Deploy again.",
        reservation_id=reservation_id,
        zone=zone,
    )


def not_shown(wanted: Properties, zone: str, region: str) -> ProbeError:
    """Say that an earlier try reserved something that cannot be found yet."""
    return ProbeError(
        "not-shown",
        f"An earlier try of this request reserved {wanted.wanted} in {zone}, and EC2 does not show it yet. A second "
        f"one is not made beside it. Deploy again; the next deploy, or deleting the stack, cancels it in {region}.",
        zone=zone,
    )


def throttled(service: str, operation: str, where: str, said: str) -> ProbeError:
    """Say that the service still refuses after the retries."""
    return ProbeError(
        "throttled",
        f"{service} still throttles {operation} in {where} after several tries with growing pauses. Something calls it "
        f"often in this account: deploy again in some minutes. It said: {said}",
        operation=operation,
    )


def refused(service: str, operation: str, code: str, said: str, where: str) -> ProbeError:
    """Pass on an error that has no better explanation."""
    return ProbeError("refused", f"{service} refused {operation} in {where}: {code}: {said}", code=code, said=said)


def unreachable(said: str, region: str) -> ProbeError:
    """Say that a call got no answer."""
    return ProbeError("unreachable", f"AWS did not answer in {region}: {said}")


def not_cancelled(reservation_id: str, until: datetime | None, region: str, said: str) -> ProbeError:
    """Say which reservation bills, until when, and how to end it."""
    end = "it is cancelled" if until is None else f"{until:%Y-%m-%d %H:%M} UTC"
    return ProbeError(
        "not-cancelled",
        f"Capacity reservation {reservation_id} could not be cancelled and bills until {end}. Cancel it: aws ec2 "
        f"cancel-capacity-reservation --capacity-reservation-id {reservation_id} --region {region}. EC2 said: {said}",
        reservation_id=reservation_id,
    )
