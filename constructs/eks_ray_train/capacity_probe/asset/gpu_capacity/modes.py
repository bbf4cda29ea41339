"""What each mode does: one function a mode, in one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import messages
from .clients import Clients
from .log import log
from .properties import STACK_TAG, Properties
from .questions import ask_offered, ask_quota, ask_zones
from .ranking import Verdict, rank, usable
from .reservation import TIME_KEPT_MS, QuotaRefusedError, cancel_leftovers, prove, tries_before


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The chosen zone, the table of all zones on one line, and why this one."""

    zone: str
    table: str
    reason: str


def _probe(wanted: Properties, request_id: str, clients: Clients) -> Outcome:
    """Choose the best zone in which EC2 gives the whole group at this moment."""
    # First, for what an earlier try left takes capacity and quota.
    tries = tries_before(request_id, cancel_leftovers(wanted.tags[STACK_TAG], clients))
    quota = ask_quota(wanted, clients)
    verdicts = rank(ask_zones(wanted, quota, clients), wanted.vcpus_needed)
    log("info", "zones, best first", zones=[vars(v.facts) | {"rejected": v.rejected} for v in verdicts])
    candidates = usable(verdicts)
    if not candidates:
        if not any(v.facts.offered and v.facts.zone in wanted.subnets_by_zone for v in verdicts):
            raise messages.not_offered(wanted, verdicts, clients.region)
        raise messages.quota_exceeded(wanted, quota, clients.region)

    answered: dict[str, Verdict] = {v.facts.zone: v for v in verdicts}
    for zone in (v.facts.zone for v in candidates):
        remaining = clients.remaining_ms()
        if remaining < TIME_KEPT_MS:
            raise messages.out_of_time(answered.values(), remaining, TIME_KEPT_MS)
        try:
            reason = prove(wanted, zone, request_id, tries[zone], clients)
        except QuotaRefusedError as error:
            raise messages.quota_refused(wanted, quota, clients.region, str(error)) from error
        if reason is None:
            return Outcome(
                zone=zone,
                table=messages.table(answered.values(), chosen=zone),
                reason=f"EC2 reserved {wanted.wanted} in {zone}, and the reservation was cancelled at once",
            )
        log("warning", "no capacity", zone=zone, reason=reason)
        answered[zone] = answered[zone].reject(reason)
    raise messages.no_capacity(wanted, answered.values(), clients.region)


def _zone(wanted: Properties, request_id: str, clients: Clients) -> Outcome:
    """Take the zone that the settings name, when the type is offered there; capacity is not tried."""
    assert wanted.zone is not None  # properties.check_mode
    offered = ask_offered(wanted.instance_type, clients)
    if wanted.zone not in offered:
        raise messages.zone_not_offered(wanted, wanted.zone, offered)
    return Outcome(
        zone=wanted.zone,
        table=f"{wanted.zone}: chosen (fixed)",
        reason=f"fixed by the settings; {wanted.instance_type} is offered there, its capacity was not tried",
    )


MODES: Mapping[str, Callable[[Properties, str, Clients], Outcome]] = {"probe": _probe, "zone": _zone}
