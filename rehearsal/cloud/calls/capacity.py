"""EC2's calls about capacity, which moto lacks."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.instances import instances
from rehearsal.cloud.capacity import Reservation
from rehearsal.cloud.errors import RefusedError

Fields = dict[str, Any]


class CapacityCalls:
    """Answers one call at a time."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.actions: Mapping[str, Callable[[Fields], Fields]] = {
            "CancelCapacityReservation": self._cancel,
            "CreateCapacityReservation": self._create,
            "DescribeCapacityReservations": self._describe,
            "DescribeInstances": lambda fields: {"reservationSet": instances(fields, account)},
            "DescribePlacementGroups": self._describe_placement_groups,
            "GetSpotPlacementScores": self._scores,
        }

    def _create(self, fields: Fields) -> Fields:
        known = {
            "AvailabilityZone",
            "ClientToken",
            "EndDate",
            "EndDateType",
            "InstanceCount",
            "InstanceMatchCriteria",
            "InstancePlatform",
            "InstanceType",
            "PlacementGroupArn",
            "TagSpecification",
            "TagSpecifications",
            "Tenancy",
        }
        given = {key: value for key, value in fields.items() if key not in ("Action", "Version")}
        if unknown := sorted(given.keys() - known):
            raise RefusedError(
                f"CreateCapacityReservation: the rehearsal does not emulate {unknown}", "UnknownParameter"
            )
        specifications = [*given.pop("TagSpecifications", []), *given.pop("TagSpecification", [])]
        tags = {tag["Key"]: tag["Value"] for specification in specifications for tag in specification["Tag"]}
        if given.get("EndDateType") == "limited" and "EndDate" not in given:
            raise RefusedError("EndDateType 'limited' needs an EndDate", "InvalidParameterCombination")
        self._check_offered(given["InstanceType"], given["AvailabilityZone"])
        group = given.get("PlacementGroupArn", "").rsplit("/", 1)[-1]
        if group and group not in self._account.placement_groups:
            raise RefusedError(f"The placement group '{group}' is unknown.", "InvalidPlacementGroup.Unknown")
        return {"capacityReservation": self._view(self._account.capacity.reserve(given, tags))}

    def _cancel(self, fields: Fields) -> Fields:
        self._account.capacity.cancel(fields["CapacityReservationId"])
        return {"return": True}

    def _describe(self, fields: Fields) -> Fields:
        found = self._account.capacity.describe()
        if ids := fields.get("CapacityReservationId"):
            if unknown := sorted(set(ids) - {reservation.id for reservation in found}):
                raise RefusedError(f"{unknown} do not exist", "InvalidCapacityReservationId.NotFound")
            found = [reservation for reservation in found if reservation.id in ids]
        for wanted in fields.get("Filter", []):
            found = [reservation for reservation in found if _matches(reservation, wanted)]
        return {"capacityReservationSet": [self._view(reservation) for reservation in found]}

    def _scores(self, fields: Fields) -> Fields:
        zones = self._account.client("ec2").describe_availability_zones()["AvailabilityZones"]
        return {
            "spotPlacementScoreSet": [
                {
                    "region": self._account.region,
                    "availabilityZoneId": zone["ZoneId"],
                    "score": self._account.capacity.scores.get(zone["ZoneName"], 5),
                }
                for zone in zones
            ]
        }

    def _describe_placement_groups(self, fields: Fields) -> Fields:
        return {
            "placementGroupSet": [
                {"groupName": name, "strategy": strategy, "state": "available"}
                for name, strategy in self._account.placement_groups.items()
            ]
        }

    def _check_offered(self, instance_type: str, zone: str) -> None:
        offered = self._account.client("ec2").describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [instance_type]}]
        )["InstanceTypeOfferings"]
        if zone not in [offering["Location"] for offering in offered]:
            raise RefusedError(
                f"The requested configuration is currently not supported: {instance_type} in {zone}", "Unsupported"
            )

    def _view(self, reservation: Reservation) -> Fields:
        given = reservation.parameters
        arn = self._account.arn("ec2", f"capacity-reservation/{reservation.id}")
        return {
            "capacityReservationId": reservation.id,
            "capacityReservationArn": arn,
            "ownerId": self._account.id,
            "instanceType": reservation.instance_type,
            "instancePlatform": given["InstancePlatform"],
            "availabilityZone": reservation.zone,
            "tenancy": given.get("Tenancy", "default"),
            "totalInstanceCount": reservation.count,
            "availableInstanceCount": reservation.count if reservation.state == "active" else 0,
            "state": reservation.state,
            "createDate": reservation.created,
            "endDate": reservation.end,
            "endDateType": given.get("EndDateType", "unlimited"),
            "instanceMatchCriteria": given.get("InstanceMatchCriteria", "open"),
            "placementGroupArn": given.get("PlacementGroupArn"),
            "tagSet": [{"key": key, "value": value} for key, value in reservation.tags.items()],
        }


def _matches(reservation: Reservation, wanted: Fields) -> bool:
    name, values = wanted["Name"], wanted["Value"]
    if name.startswith("tag:"):
        return reservation.tags.get(name[4:]) in values
    if name == "state":
        return reservation.state in values
    raise RefusedError(
        f"DescribeCapacityReservations: the rehearsal does not emulate the filter {name}", "InvalidFilter"
    )
