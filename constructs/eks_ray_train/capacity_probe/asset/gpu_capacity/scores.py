"""EC2's Spot placement scores: a hint at On-Demand capacity, where they say anything.

A score guesses how a Spot request of this account would do. It is low for a single instance type by nature, and the
account's Spot quota caps it: what the quota does not allow cannot succeed anywhere, and every zone gets the same 1. The
default Spot quota of G instances is 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .log import log
from .paging import items
from .properties import Properties
from .quota import ask_limit

# By family prefix. P instances have one On-Demand quota and two for Spot: P2 to P4, and P5. P6 is not told there (EC2
# user guide, "Spot Instance quotas").
_SPOT_QUOTAS = {"g": "L-3819A6DF", "vt": "L-3819A6DF", "p5": "L-C4BD4855"} | dict.fromkeys(
    ("p2", "p3", "p4"), "L-7212CCBC"
)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The score of each zone, by name; empty where they are of no use, and then ``ignored`` says why."""

    by_zone: Mapping[str, int]
    ignored: str | None


def ask_scores(wanted: Properties, clients: Clients) -> Scores:
    """Return the scores. That EC2 gives none is a warning: they only break ties."""
    try:
        names, scores, spot = clients.at_once(
            lambda: _zone_names(clients), lambda: _scores(wanted, clients), lambda: _spot_limit(wanted, clients)
        )
    except (BotoCoreError, ClientError) as error:
        log("warning", "no Spot placement scores: zones are ranked without them", error=str(error))
        return Scores(by_zone={}, ignored="EC2 gave none")
    found = {names[zone_id]: score for zone_id, score in scores.items() if zone_id in names}
    if ignored := _useless(found, wanted, spot):
        log("warning", "Spot placement scores ignored", reason=ignored, scores=found)
        return Scores(by_zone={}, ignored=ignored)
    return Scores(by_zone=found, ignored=None)


def _useless(scores: Mapping[str, int], wanted: Properties, spot_limit: int | None) -> str | None:
    if spot_limit is not None and spot_limit < wanted.vcpus_needed:
        return f"the Spot quota of {spot_limit} vCPUs caps them"
    if scores and all(score == 1 for score in scores.values()):
        return "every zone has 1, as where the Spot quota caps them"
    return None


def _zone_names(clients: Clients) -> dict[str, str]:
    answer = clients.ec2.describe_availability_zones(Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}])
    return {zone["ZoneId"]: zone["ZoneName"] for zone in answer["AvailabilityZones"]}


def _scores(wanted: Properties, clients: Clients) -> dict[str, int]:
    scores = items(
        clients.ec2.get_spot_placement_scores,
        "SpotPlacementScores",
        InstanceTypes=[wanted.instance_type],
        TargetCapacity=wanted.count,
        SingleAvailabilityZone=True,
        RegionNames=[clients.region],
    )
    return {score["AvailabilityZoneId"]: score["Score"] for score in scores}


def _spot_limit(wanted: Properties, clients: Clients) -> int | None:
    code = next((c for family, c in _SPOT_QUOTAS.items() if wanted.instance_type.startswith(family)), None)
    if code is None:
        return None
    try:
        return ask_limit(code, clients)
    except (BotoCoreError, ClientError) as error:
        log("warning", "the Spot quota is unknown", quota_code=code, error=str(error))
        return None
