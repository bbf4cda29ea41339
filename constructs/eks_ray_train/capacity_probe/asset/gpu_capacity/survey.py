"""Asks everything about every zone at once, ranks the zones, and says what is wrong when none is left."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from . import messages
from .clients import Clients
from .here import Here
from .log import log
from .properties import Properties
from .questions import ask_instances, ask_offered, quota_of, zone_facts
from .quota import Quota, ask_limit
from .ranking import Verdict, ZoneFacts, rank, usable
from .reservation import TIME_KEPT_MS, QuotaRefusedError
from .scores import ask_scores

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Every zone with its verdict, best first, the quota, and why the scores were ignored, or None."""

    verdicts: tuple[Verdict, ...]
    quota: Quota
    scores_ignored: str | None

    @property
    def note(self) -> str:
        """Return what to add to the reason for a choice."""
        return f"; placement scores ignored: {self.scores_ignored}" if self.scores_ignored else ""


def survey(wanted: Properties, clients: Clients, here: Here | None = None) -> Survey:
    """Ask and rank; raises ProbeError when no zone can be taken, and boto3's errors.

    Nodes that run ``here`` already need no quota once more, and those of a placement group keep it in their zone.
    """
    offered, limit, instances, scores = clients.at_once(
        lambda: ask_offered(wanted.instance_type, clients),
        lambda: ask_limit(wanted.quota_code, clients),
        lambda: ask_instances(wanted, clients),
        lambda: ask_scores(wanted, clients),
    )
    quota = quota_of(wanted, limit, instances)
    facts = [_with_own(f, wanted, here) for f in zone_facts(wanted, offered, quota, scores)]
    verdicts = rank(facts, wanted.vcpus_needed)
    if here is not None and here.pinned:
        pinned = [v if v.rejected or v.facts.zone == here.zone else v.reject(_pinned(here)) for v in verdicts]
        verdicts = tuple(sorted(pinned, key=lambda v: v.rejected is not None))
    rows: list[Mapping[str, object]] = [vars(v.facts) | {"rejected": v.rejected} for v in verdicts]
    log("info", "zones, best first", zones=rows, scores_ignored=scores.ignored)
    if not usable(verdicts):
        if not offered & wanted.candidates.keys():
            raise messages.not_offered(wanted, offered, clients.region)
        if here is not None and any(v.rejected == _pinned(here) for v in verdicts):
            raise messages.pinned(here.zone, messages.table(verdicts))
        raise messages.quota_exceeded(wanted, quota, clients.region)
    return Survey(verdicts=verdicts, quota=quota, scores_ignored=scores.ignored)


def survey_one(wanted: Properties, zone: str, clients: Clients, here: Here | None = None) -> None:
    """Check offering and quota for one zone; raises ProbeError, and boto3's errors."""
    check_pinned(zone, here)
    offered, limit, instances = clients.at_once(
        lambda: ask_offered(wanted.instance_type, clients),
        lambda: ask_limit(wanted.quota_code, clients),
        lambda: ask_instances(wanted, clients),
    )
    quota = quota_of(wanted, limit, instances)
    if zone not in offered:
        raise messages.zone_not_offered(wanted, zone, offered)
    missing = replace(wanted, count=max(0, wanted.count - (here.running(zone) if here else 0)))
    if quota.free < missing.vcpus_needed:
        raise messages.quota_exceeded(missing, quota, clients.region)


def check_pinned(zone: str, here: Here | None) -> None:
    """Refuse a zone other than the one in which the placement group's nodes run. Raises ProbeError."""
    if here is not None and here.pinned and zone != here.zone:
        raise messages.pinned(here.zone, f"{zone} was asked for")


def first_with_room(
    wanted: Properties, asked: Survey, attempt: Callable[[str], T | str], clients: Clients
) -> tuple[str, T, str]:
    """Try the zones in their order until one gives something that is not a reason; return zone, thing and table.

    Raises ProbeError when no zone does, when time runs out, and when EC2's own count exceeds the quota.
    """
    answered: dict[str, Verdict] = {verdict.facts.zone: verdict for verdict in asked.verdicts}
    for zone in (verdict.facts.zone for verdict in usable(asked.verdicts)):
        remaining = clients.remaining_ms()
        if remaining < TIME_KEPT_MS:
            raise messages.out_of_time(answered.values(), remaining, TIME_KEPT_MS)
        try:
            got = attempt(zone)
        except QuotaRefusedError as error:
            raise messages.quota_refused(wanted, asked.quota, clients.region, str(error)) from error
        if not isinstance(got, str):
            return zone, got, messages.table(answered.values(), chosen=zone)
        log("warning", "no capacity", zone=zone, reason=got)
        answered[zone] = answered[zone].reject(got)
    raise messages.no_capacity(wanted, answered.values(), clients.region)


def _with_own(facts: ZoneFacts, wanted: Properties, here: Here | None) -> ZoneFacts:
    own = here.running(facts.zone) * wanted.vcpus_per_instance if here else 0
    return replace(facts, vcpus_free=facts.vcpus_free + own)


def _pinned(here: Here) -> str:
    return f"the placement group's nodes run in {here.zone}"
