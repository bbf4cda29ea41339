"""Which zone first: a pure function of what is known about each zone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class ZoneFacts:
    """What is known about one Availability Zone before capacity is asked for.

    ``vcpus_free`` is what the account's quota leaves in the zone's region. ``score`` is EC2's Spot placement score,
    1 to 10, or None where it is unknown or says nothing. ``excluded`` zones are the settings' to leave out.
    """

    zone: str
    offered: bool
    vcpus_free: int
    subnet_id: str | None
    score: int | None
    excluded: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A zone, and in ``rejected`` why it cannot be taken, or None while it can."""

    facts: ZoneFacts
    rejected: str | None

    def reject(self, reason: str) -> "Verdict":
        """Return the same zone, rejected."""
        return replace(self, rejected=reason)


def rank(zones: Iterable[ZoneFacts], vcpus_needed: int) -> tuple[Verdict, ...]:
    """Return a verdict on every zone, best first, whatever the order in which they come.

    Offered before not offered, then enough quota, then a subnet, then the higher Spot placement score (a hint that
    never rejects), then the name, so that no two zones are equal; excluded zones come last. Raises ValueError for a
    zone that is given twice.
    """
    facts = list(zones)
    twice = [zone for zone, times in Counter(f.zone for f in facts).items() if times > 1]
    if twice:
        raise ValueError(f"zones given twice: {', '.join(sorted(twice))}")

    def order(f: ZoneFacts) -> tuple[bool, bool, bool, bool, int, str]:
        return (f.excluded, not f.offered, f.vcpus_free < vcpus_needed, f.subnet_id is None, -(f.score or 0), f.zone)

    return tuple(Verdict(facts=f, rejected=_rejection(f, vcpus_needed)) for f in sorted(facts, key=order))


def usable(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the zones that are not rejected, in the same order."""
    return tuple(verdict for verdict in verdicts if verdict.rejected is None)


def _rejection(f: ZoneFacts, vcpus_needed: int) -> str | None:
    if f.excluded:
        return "excluded by the settings"
    if not f.offered:
        return "not offered"
    if f.vcpus_free < vcpus_needed:
        return f"quota: {vcpus_needed} vCPUs needed, {f.vcpus_free} free"
    if f.subnet_id is None:
        return "no subnet"
    return None
