"""EC2's calls about capacity reservations, which moto lacks."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.reservation_views import matches, reservation_view
from rehearsal.cloud.errors import RefusedError

Fields = dict[str, Any]
Action = Callable[[Fields, str], Fields]

_MOST_IN_A_PAGE = 1000
_CREATE = frozenset(
    {
        "AvailabilityZone",
        "ClientToken",
        "EndDate",
        "EndDateType",
        "InstanceCount",
        "InstanceMatchCriteria",
        "InstancePlatform",
        "InstanceType",
        "PlacementGroupArn",
        "Tenancy",
    }
)
_MODIFY = frozenset({"CapacityReservationId", "EndDate", "EndDateType", "InstanceCount"})


class ReservationCalls:
    """Answers one call at a time, with its fields and region."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.actions: Mapping[str, Action] = {
            "CancelCapacityReservation": self._cancel,
            "CreateCapacityReservation": self._create,
            "DescribeCapacityReservations": self._describe,
            "GetGroupsForCapacityReservation": self._groups,
            "ModifyCapacityReservation": self._modify,
        }

    def _create(self, fields: Fields, region: str) -> Fields:
        given = _without_action(fields)
        specifications = [*given.pop("TagSpecifications", []), *given.pop("TagSpecification", [])]
        tags = {tag["Key"]: tag["Value"] for specification in specifications for tag in specification["Tag"]}
        _refuse_unknown("CreateCapacityReservation", given, _CREATE)
        for name in ("InstanceType", "InstancePlatform", "InstanceCount", "AvailabilityZone"):
            if name not in given:
                raise RefusedError(f"The request must contain the parameter {name}", "MissingParameter")
        self._check_end(given)
        self._check_offered(given["InstanceType"], given["AvailabilityZone"], region)
        self._check_placement_group(given.get("PlacementGroupArn"))
        made = self._account.capacity.reserve(given, tags)
        return {"capacityReservation": reservation_view(made, self._account)}

    def _cancel(self, fields: Fields, region: str) -> Fields:
        self._account.capacity.cancel(fields["CapacityReservationId"], region)
        return {"return": True}

    def _modify(self, fields: Fields, region: str) -> Fields:
        given = _without_action(fields)
        _refuse_unknown("ModifyCapacityReservation", given, _MODIFY)
        self._check_end({"EndDateType": "limited" if "EndDate" in given else "unlimited", **given})
        changes = {key: value for key, value in given.items() if key != "CapacityReservationId"}
        self._account.capacity.modify(given["CapacityReservationId"], region, changes)
        return {"return": True}

    def _describe(self, fields: Fields, region: str) -> Fields:
        found = self._account.capacity.reservations(region)
        if ids := fields.get("CapacityReservationId"):
            if unknown := sorted(set(ids) - {reservation.id for reservation in found}):
                raise RefusedError(
                    f"The capacity reservation '{unknown[0]}' does not exist", "InvalidCapacityReservationId.NotFound"
                )
            found = [reservation for reservation in found if reservation.id in ids]
        views = [(reservation, reservation_view(reservation, self._account)) for reservation in found]
        for wanted in fields.get("Filter", []):
            views = [(item, view) for item, view in views if matches(item, view, wanted)]
        start, size = int(fields.get("NextToken", 0)), int(fields.get("MaxResults", _MOST_IN_A_PAGE))
        if not 1 <= size <= _MOST_IN_A_PAGE:
            raise RefusedError(f"MaxResults {size} must be from 1 to {_MOST_IN_A_PAGE}", "InvalidParameterValue")
        page = [view for _, view in views[start : start + size]]
        more = str(start + size) if start + size < len(views) else None
        return {"capacityReservationSet": page, "nextToken": more}

    def _groups(self, fields: Fields, region: str) -> Fields:
        found = self._account.capacity.find(fields["CapacityReservationId"], region)
        arns = self._account.groups.poll(found.id)
        return {"capacityReservationGroupSet": [{"groupArn": arn, "ownerId": self._account.id} for arn in arns]}

    def _check_end(self, given: Fields) -> None:
        limited = given.get("EndDateType", "unlimited") == "limited"
        if limited != ("EndDate" in given):
            raise RefusedError(
                "You must provide an EndDate value if the EndDateType is limited, and none if it is unlimited",
                "InvalidParameterCombination",
            )
        if limited and datetime.fromisoformat(given["EndDate"]) <= self._account.capacity.now():
            raise RefusedError(f"The end date {given['EndDate']} must be in the future", "InvalidParameterValue")

    def _check_placement_group(self, arn: str | None) -> None:
        group = self._account.placement_groups.get(arn.rsplit("/", 1)[-1]) if arn else None
        if arn and group is None:
            raise RefusedError(
                f"The placement group '{arn.rsplit('/', 1)[-1]}' is unknown.", "InvalidPlacementGroup.Unknown"
            )
        if group is not None and group.strategy != "cluster":
            raise RefusedError(f"{arn} is no cluster placement group", "InvalidParameterValue")

    def _check_offered(self, instance_type: str, zone: str, region: str) -> None:
        ec2 = self._account.client("ec2", region)
        zones = [item["ZoneName"] for item in ec2.describe_availability_zones()["AvailabilityZones"]]
        if zone not in zones:
            raise RefusedError(f"Invalid availability zone: [{zone}]", "InvalidParameterValue")
        offered = ec2.describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [instance_type]}]
        )["InstanceTypeOfferings"]
        if zone not in [offering["Location"] for offering in offered]:
            raise RefusedError(
                f"The requested configuration is currently not supported: {instance_type} in {zone}", "Unsupported"
            )


def _without_action(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if key not in ("Action", "Version")}


def _refuse_unknown(action: str, given: Fields, known: frozenset[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise RefusedError(f"{action}: the rehearsal does not emulate {unknown}", "UnknownParameter")
