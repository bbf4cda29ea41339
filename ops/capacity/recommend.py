"""Which region and zone to take: pure functions of what the regions said."""

from collections.abc import Sequence
from dataclasses import dataclass

from environments.settings import Settings
from ops.capacity import probe
from ops.capacity.proof import Proof
from ops.capacity.scan import RegionAnswer


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The zone to start in and the zones to give the environment; ``proven`` when EC2 reserved the group there."""

    region: str
    zone: str
    zones: tuple[str, ...]
    proven: bool


def order(answers: Sequence[RegionAnswer], preferred: Settings) -> list[tuple[str, probe.Verdict]]:
    """The usable zones of all regions with their region, best first.

    The probe's own ranking, across regions. What it tells apart by name only comes in another order: first the zones
    that the environment has, then its region, for what the user wrote down beats the alphabet.
    """
    region_of = {v.facts.zone: answer.region for answer in answers for v in answer.usable}
    best_first = probe.rank((v.facts for answer in answers for v in answer.usable), 0)
    home, listed = preferred.region, preferred.network.availability_zones

    def key(found: tuple[str, probe.Verdict]) -> tuple[int, bool, bool]:
        region, verdict = found
        return -(verdict.facts.score or 0), verdict.facts.zone not in listed, region != home

    return sorted(((region_of[v.facts.zone], v) for v in best_first), key=key)


def recommend(
    answers: Sequence[RegionAnswer], preferred: Settings, *, at_least: int, at_most: int, proof: Proof | None = None
) -> Recommendation | None:
    """The best zone, or the one that a proof was found for, with the zones of its region to list; None for none.

    Zones that offer the type come first, then others until there are ``at_least``: EKS wants two.
    """
    chosen = next(
        (found for found in order(answers, preferred) if proof is None or proof.zone == found[1].facts.zone),
        None,
    )
    if chosen is None:
        return None
    region, verdict = chosen
    answer = next(answer for answer in answers if answer.region == region)
    able = [v.facts.zone for v in answer.usable]
    others = sorted(
        v.facts.zone for v in answer.verdicts if v.rejected is not None and v.facts.zone not in answer.without_eks
    )
    zones = able[:at_most]
    zones += others[: max(0, at_least - len(zones))]
    if verdict.facts.zone not in zones:
        zones[-1] = verdict.facts.zone
    return Recommendation(region=region, zone=verdict.facts.zone, zones=tuple(sorted(zones)), proven=proof is not None)
