"""An update to a larger group: the zone stays, and only the difference is asked for, there."""

from dataclasses import replace

from . import existing, hold_more, messages
from .clients import Clients
from .hold_more import Grown
from .outcome import Request
from .properties import Properties
from .questions import ask_instances, nodes_among, quota_of
from .quota import ask_limit
from .reservation import QuotaRefusedError, prove, tries_before
from .stickiness import Choice


def grow(wanted: Properties, old_count: int, choice: Choice, request: Request, clients: Clients) -> str:
    """Ask for the nodes beyond ``old_count``, and beyond those that run already; for all where none runs.

    Returns the reason.

    That some run already is how an update looks which undoes a failed one to a smaller group. Raises ProbeError, and
    boto3's errors; the nodes that run are not touched.
    """
    instances = ask_instances(wanted, clients)
    own = nodes_among(instances, wanted.instance_type, choice.subnet_id)
    # None where they are parked: what was asked for before has to be found again.
    base = max(old_count, len(own)) if own else 0
    if wanted.mode == "reservation":
        existing.grow(wanted, base, clients)
        return f"{wanted.reservation_id} has room for the nodes up to {wanted.count}"
    first = hold_more.missing_from(wanted, base, request, clients) if wanted.mode == "hold" else base + 1
    more = replace(wanted, count=max(0, wanted.count - first + 1))
    quota = quota_of(wanted, ask_limit(wanted.quota_code, clients), instances)
    if quota.free < more.vcpus_needed:
        raise messages.quota_exceeded(more, quota, clients.region)
    try:
        if wanted.mode == "hold":
            unreserved = sum("CapacityReservationId" not in instance for instance in own)
            grown = hold_more.grow(wanted, choice.zone, first, base, unreserved, request, clients)
        else:
            grown = _prove(more, choice.zone, request, clients)
    except QuotaRefusedError as error:
        raise messages.quota_refused(more, quota, clients.region, str(error)) from error
    if grown.refused is not None:
        raise messages.no_room_to_grow(more, choice.zone, grown.refused)
    said = f"{more.wanted} more were asked for" if more.count else "the nodes that were added run or are held already"
    return said + grown.note


def _prove(more: Properties, zone: str, request: Request, clients: Clients) -> Grown:
    if more.mode != "probe" or not more.count:
        return Grown()
    return Grown(refused=prove(more, zone, request.id, tries_before(request.id, zone, request.found), clients))
