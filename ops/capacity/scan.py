"""Asks every region at once what the capacity probe would ask one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import ClientError

from eks_ray_train.checks.zones import DISALLOWED_ZONE_IDS
from ops.account import explain
from ops.capacity import probe
from ops.workers import all_of, answers, one_by_one

WORKERS = 64
"""Calls under way at once. They wait for AWS, not for this machine; each region has its own limits there."""


@dataclass(frozen=True, kw_only=True)
class RegionAnswer:
    """What a region said: its zones, best first, and its quota; or in ``refused`` why nothing is known."""

    region: str
    verdicts: tuple[probe.Verdict, ...] = ()
    without_eks: frozenset[str] = frozenset()
    quota: probe.Quota | None = None
    scores_ignored: str | None = None
    refused: str | None = None

    @property
    def usable(self) -> tuple[probe.Verdict, ...]:
        """The zones that may take the group, best first."""
        return probe.usable(self.verdicts)


def scan(
    session: boto3.Session,
    regions: Iterable[str],
    wanted: probe.Properties,
    *,
    concurrent: bool = True,
    on_answer: Callable[[RegionAnswer], None] = lambda answer: None,
) -> dict[str, RegionAnswer]:
    """Ask all regions, and return what each said; ``on_answer`` hears of each as soon as it is complete.

    A region that refuses is an answer, not an error. Ctrl-C ends it at once: every question only reads. Not
    ``concurrent`` asks one question after the other, which is what the time is measured against.
    """
    at_once = all_of if concurrent else one_by_one
    told: dict[str, dict[str, Any]] = {}
    found: dict[str, RegionAnswer] = {}
    expected: dict[str, int] = {}

    def ask() -> Iterator[tuple[tuple[str, str], Callable[[], Any]]]:
        for region in regions:
            asked = probe.questions(wanted, probe.connect(session, region, at_once))
            expected[region] = len(asked)
            for name, question in asked.items():
                yield (region, name), question

    for (region, name), said in answers(ask(), WORKERS if concurrent else 1):
        told.setdefault(region, {})[name] = said
        if len(told[region]) == expected[region]:
            found[region] = _answer(region, told[region], wanted)
            on_answer(found[region])
    return found


def not_enabled(region: str) -> RegionAnswer:
    """The answer of a region that the account has not opted in to."""
    return RegionAnswer(region=region, refused="not enabled for this account")


def _answer(region: str, told: Mapping[str, Any], wanted: probe.Properties) -> RegionAnswer:
    for said in told.values():
        if isinstance(said, Exception):
            return RegionAnswer(region=region, refused=_reason(said, region))
    known = probe.region_facts(wanted, told)
    without_eks = frozenset(zone.name for zone in known.zones if zone.id in DISALLOWED_ZONE_IDS.values())
    verdicts = tuple(
        verdict.reject("no EKS control plane here") if verdict.facts.zone in without_eks else verdict
        for verdict in probe.rank(known.facts, wanted.vcpus_needed)
    )
    return RegionAnswer(
        region=region,
        verdicts=verdicts,
        without_eks=without_eks,
        quota=known.quota,
        scores_ignored=known.scores_ignored,
    )


def _reason(error: Exception, region: str) -> str:
    if isinstance(error, ClientError) and error.response["Error"]["Code"] == "AuthFailure":
        # What a region that is not enabled says to credentials that are good elsewhere.
        return "not enabled for this account, or closed to it (AuthFailure)"
    return str(explain(error, region)).splitlines()[0]
