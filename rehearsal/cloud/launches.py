"""Where an instance comes from: EC2's rules for capacity reservation targets, groups and open reservations."""

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.reservations import BLOCK, Instance, Launch, Reservation


def launch(wanted: Launch, account: Account) -> Instance:
    """Start an instance; raises RefusedError with EC2's code.

    A targeted reservation takes it or the launch fails. Of a targeted group the first reservation that matches takes
    it, and without one it runs On-Demand. Without a target an open reservation takes it, if one matches.
    """
    capacity = account.capacity
    with capacity.lock:
        if wanted.reservation_id is not None:
            return capacity.launch(wanted, _targeted(capacity.find(wanted.reservation_id), wanted))
        members = _candidates(wanted, account)
        found = next((item for item in members if item.available and not item.mismatches(wanted)), None)
        if found is None and (wanted.market == BLOCK or wanted.preference == "capacity-reservations-only"):
            raise RefusedError(
                "The requested reservation does not have sufficient compatible and available capacity for this "
                f"request. ({_why_not(members, wanted)})",
                "ReservationCapacityExceeded",
            )
        return capacity.launch(wanted, found)


def _targeted(found: Reservation, wanted: Launch) -> Reservation:
    if wrong := found.mismatches(wanted):
        raise RefusedError(
            f"The attributes of the capacity reservation {found.id} do not match the launch: {'; '.join(wrong)}",
            "InvalidParameterValue",
        )
    return found


def _candidates(wanted: Launch, account: Account) -> list[Reservation]:
    known = {item.id: item for item in account.capacity.reservations()}
    if wanted.group_arn is not None:
        return [known[id] for id in account.groups.members(wanted.group_arn) if id in known]
    if wanted.preference == "none":
        return []
    return [item for item in known.values() if item.criteria == "open"]


def _why_not(members: list[Reservation], wanted: Launch) -> str:
    said = [
        f"{item.id}: {'; '.join(item.mismatches(wanted)) or f'{item.state}, {item.available} available'}"
        for item in members
    ]
    return ", ".join(said) or "no reservation is a member"
