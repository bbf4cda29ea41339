"""When what is held ends. Nothing here fails an update: the nodes run, and an end date is not worth their zone."""

from datetime import timedelta

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .holding import held_of
from .log import log
from .outcome import Request
from .properties import Properties
from .refusals import explain
from .tags import last_node

_SHORTEST = timedelta(minutes=5)


def reschedule(wanted: Properties, request: Request, clients: Clients) -> str:
    """Move the end of what is held to ``hold_minutes`` after it was made; return the reason, also where EC2 refuses."""
    held, refused = held_of(request), []
    for reservation in held:
        end = reservation["CreateDate"] + timedelta(minutes=wanted.hold_minutes)
        end = max(end, clients.now() + _SHORTEST).replace(microsecond=0)
        try:
            clients.ec2.modify_capacity_reservation(
                CapacityReservationId=reservation["CapacityReservationId"], EndDateType="limited", EndDate=end
            )
        except (BotoCoreError, ClientError) as error:
            explained = explain(error, clients.region)
            log("error", explained.kind, reservation=reservation["CapacityReservationId"], **explained.details)
            refused.append(
                f"{reservation['CapacityReservationId']} still ends {reservation['EndDate']:%H:%M} UTC: {explained}"
            )
        else:
            log("info", "end date moved", reservation=reservation["CapacityReservationId"], end=end)
    if not held:
        return "the new hold time is for what is held next"
    return "; ".join(refused) or f"held for {wanted.hold_minutes} minutes from when it was reserved"


def left_empty(wanted: Properties, request: Request, clients: Clients) -> list[str]:
    """Say what is held for more nodes than the group will have.

    It is not made smaller: the nodes still run in it, and an update that fails wants them back.
    """
    return [
        f"{r['CapacityReservationId']} has {more} more than the group, which bill from the end of their nodes until "
        f"{r['EndDate']:%H:%M} UTC; to end that then: aws ec2 modify-capacity-reservation --capacity-reservation-id "
        f"{r['CapacityReservationId']} --instance-count {int(r['TotalInstanceCount']) - more} --region {clients.region}"
        for r in held_of(request)
        if (more := last_node(r) - wanted.count) > 0
    ]
