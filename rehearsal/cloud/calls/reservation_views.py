"""How capacity reservations look in EC2's answers, and EC2's filters for them."""

from fnmatch import fnmatchcase
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.reservations import Reservation

_FILTERS = {
    "availability-zone": "availabilityZone",
    "end-date-type": "endDateType",
    "instance-match-criteria": "instanceMatchCriteria",
    "instance-platform": "instancePlatform",
    "instance-type": "instanceType",
    "owner-id": "ownerId",
    "placement-group-arn": "placementGroupArn",
    "state": "state",
    "tenancy": "tenancy",
}


def reservation_arn(reservation: Reservation, account: Account) -> str:
    """Return a reservation's ARN, in its own region."""
    return f"arn:aws:ec2:{reservation.region}:{account.id}:capacity-reservation/{reservation.id}"


def reservation_view(reservation: Reservation, account: Account) -> dict[str, Any]:
    """Return a reservation as DescribeCapacityReservations does."""
    given = reservation.parameters
    return {
        "capacityReservationId": reservation.id,
        "capacityReservationArn": reservation_arn(reservation, account),
        "ownerId": account.id,
        "instanceType": reservation.instance_type,
        "instancePlatform": given.get("InstancePlatform", "Linux/UNIX"),
        "availabilityZone": reservation.zone,
        "tenancy": given.get("Tenancy", "default"),
        "totalInstanceCount": reservation.count,
        "availableInstanceCount": reservation.available,
        "state": reservation.state,
        "createDate": reservation.created,
        "startDate": reservation.created,
        "endDate": reservation.end,
        "endDateType": given.get("EndDateType", "unlimited"),
        "instanceMatchCriteria": reservation.criteria,
        "placementGroupArn": given.get("PlacementGroupArn"),
        "reservationType": reservation.kind,
        "tagSet": [{"key": key, "value": value} for key, value in reservation.tags.items()],
    }


def matches(reservation: Reservation, view: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether one of EC2's filters lets a reservation through; raises RefusedError for a filter that is not known."""
    name, values = wanted["Name"], wanted["Value"]
    if name.startswith("tag:"):
        return any(fnmatchcase(reservation.tags.get(name[4:], "\0"), pattern) for pattern in values)
    if name == "tag-key":
        return any(key in values for key in reservation.tags)
    if name not in _FILTERS:
        raise RefusedError(
            f"DescribeCapacityReservations: the rehearsal does not emulate the filter {name}", "InvalidFilter"
        )
    return any(fnmatchcase(str(view[_FILTERS[name]]), pattern) for pattern in values)
