"""DescribeRegions, and the Spot placement scores, which EC2 gives for any region from any other."""

from collections.abc import Mapping
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES
from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.reservations import Action, Fields
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.regions import ENABLED, all_regions

_MOST_REGIONS = 10
_MOST_SCORES = 10
_SCORE = 5
_CAPPED = 1


class RegionCalls:
    """Answers one call at a time, with its fields and region."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.actions: Mapping[str, Action] = {
            "DescribeRegions": self._regions,
            "GetSpotPlacementScores": self._scores,
        }

    def _regions(self, fields: Fields, region: str) -> Fields:
        known = all_regions()
        names = fields.get("RegionName", [])
        if unknown := sorted(set(names) - set(known)):
            raise RefusedError(f"Invalid values found for region names: {unknown}", "InvalidParameterValue")
        every = str(fields.get("AllRegions", "")).lower() == "true" or bool(names)
        found = [_region_view(name) for name in known if (every or name in ENABLED) and (not names or name in names)]
        for wanted in fields.get("Filter", []):
            key = {"opt-in-status": "optInStatus", "region-name": "regionName", "endpoint": "regionEndpoint"}.get(
                wanted["Name"]
            )
            if key is None:
                raise RefusedError(f"The filter '{wanted['Name']}' is invalid", "InvalidParameterValue")
            found = [item for item in found if item[key] in wanted["Value"]]
        return {"regionInfo": found}

    def _scores(self, fields: Fields, region: str) -> Fields:
        names, types = fields.get("RegionName", []), fields.get("InstanceType", [])
        if len(names) > _MOST_REGIONS:
            raise RefusedError(
                f"The number of Regions ({len(names)}) exceeds the limit of {_MOST_REGIONS}.", "InvalidParameterValue"
            )
        if unknown := sorted(set(names) - set(ENABLED)):
            raise RefusedError(f"The Regions {unknown} are invalid or not enabled", "InvalidParameterValue")
        if (
            len(types) != 1
            or types[0] not in INSTANCE_TYPES
            or fields.get("TargetCapacityUnitType", "units") != "units"
        ):
            raise RefusedError(
                f"GetSpotPlacementScores: the rehearsal scores units of one instance type that it knows, not {types}",
                "InvalidParameterValue",
            )
        zones = str(fields.get("SingleAvailabilityZone", "")).lower() == "true"
        wanted = types[0], int(fields["TargetCapacity"])
        found = [item for name in names or ENABLED for item in self._score_region(name, zones, *wanted)]
        # EC2 returns the ten best, whatever was asked for.
        best = sorted(found, key=lambda item: -int(item["score"]))[:_MOST_SCORES]
        return {"spotPlacementScoreSet": best}

    def _score_region(self, region: str, zones: bool, type: str, count: int) -> list[dict[str, Any]]:
        """Return a region's score, or those of its zones: 1 wherever the account's Spot quota allows no more."""
        capacity = self._account.capacity
        allowed = capacity.quotas.allows_spot(region, type, count)

        def score(name: str) -> int:
            return capacity.scores.get(name, _SCORE) if allowed else _CAPPED

        if not zones:
            return [{"region": region, "score": score(region)}]
        found = self._account.client("ec2", region).describe_availability_zones()["AvailabilityZones"]
        return [
            {"region": region, "availabilityZoneId": zone["ZoneId"], "score": score(zone["ZoneName"])} for zone in found
        ]


def _region_view(name: str) -> dict[str, str]:
    return {
        "regionName": name,
        "regionEndpoint": f"ec2.{name}.amazonaws.com",
        "optInStatus": "opt-in-not-required" if name in ENABLED else "not-opted-in",
    }
