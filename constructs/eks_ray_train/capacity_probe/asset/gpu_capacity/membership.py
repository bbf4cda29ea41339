"""Makes a reservation a member of the group that the launch template targets, and waits until EC2 sees it there.

Nodes that start before that start beside the reservation: EC2 looks for the group's members at launch.
"""

from typing import Any

from botocore.exceptions import ClientError

from . import messages
from .clients import Clients
from .paging import items
from .refusals import code_of
from .reservation import TIME_KEPT_MS
from .tags import Reservation

_POLL_SECONDS = 2.0


def join(reservation: Reservation, group_arn: str, clients: Clients) -> None:
    """Return once EC2 shows the reservation in the group.

    Raises ProbeError while there is still time to cancel the reservation, and boto3's errors.
    """
    assert clients.groups is not None  # the handler makes the client
    reservation_id, arn = reservation["CapacityReservationId"], reservation["CapacityReservationArn"]
    said = "EC2 does not show it there yet"
    asked = False
    while group_arn not in _groups(reservation_id, clients):
        if clients.remaining_ms() < TIME_KEPT_MS:
            raise messages.not_joined(reservation_id, reservation["AvailabilityZone"], clients.region, said)
        if not asked:
            answer = clients.groups.group_resources(Group=group_arn, ResourceArns=[arn])
            # Accepted is at once or soon; a reservation this young may also be unknown to Resource Groups still.
            failed = answer.get("Failed", [])
            asked = not failed
            said = _words(failed) if failed else "EC2 does not show it there yet"
            if not failed and not answer.get("Pending"):
                continue
        clients.sleep(_POLL_SECONDS)


def _groups(reservation_id: str, clients: Clients) -> set[str]:
    try:
        groups = items(
            clients.ec2.get_groups_for_capacity_reservation,
            "CapacityReservationGroups",
            CapacityReservationId=reservation_id,
        )
        return {group["GroupArn"] for group in groups}
    except ClientError as error:
        if code_of(error).startswith("InvalidCapacityReservationId"):
            return set()
        raise


def _words(failed: list[dict[str, Any]]) -> str:
    return "; ".join(f"{item.get('ErrorCode')}: {item.get('ErrorMessage')}" for item in failed)
