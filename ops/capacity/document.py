"""The scan for programs: ``--json``."""

from collections.abc import Iterable
from typing import Any

from ops.capacity.choice import Choice
from ops.capacity.proof import Proof
from ops.capacity.recommend import Recommendation
from ops.capacity.scan import RegionAnswer
from ops.price import usd_per_hour


def document(
    *,
    account: str,
    choice: Choice,
    answers: Iterable[RegionAnswer],
    warnings: list[str],
    proof: Proof | None,
    recommendation: Recommendation | None,
    next_command: str | None,
) -> dict[str, Any]:
    """What ``--json`` prints; a field that does not apply is null, and none is left out."""
    instance = choice.instance
    return {
        "account": account,
        "instance_type": instance.name,
        "count": choice.count,
        "vcpus_needed": instance.vcpus * choice.count,
        "price": {
            "usd_per_hour": usd_per_hour(instance, choice.count),
            "region": instance.price_region,
            "date": instance.price_date.isoformat(),
        },
        "regions": [_region(answer) for answer in sorted(answers, key=lambda answer: answer.region)],
        "warnings": warnings,
        "probe": None if proof is None else {"zone": proof.zone, "refused": dict(proof.answers)},
        "recommendation": None
        if recommendation is None
        else {
            "region": recommendation.region,
            "zone": recommendation.zone,
            "zones": list(recommendation.zones),
            "proven": recommendation.proven,
        },
        "next": next_command,
    }


def _region(answer: RegionAnswer) -> dict[str, Any]:
    quota = answer.quota
    return {
        "region": answer.region,
        "refused": answer.refused,
        "quota": None if quota is None else {"code": quota.code, "limit": quota.limit, "used": quota.used},
        "scores_ignored": answer.scores_ignored,
        "zones": [
            {
                "zone": verdict.facts.zone,
                "offered": verdict.facts.offered,
                "score": verdict.facts.score,
                "rejected": verdict.rejected,
            }
            for verdict in answer.verdicts
        ],
    }
