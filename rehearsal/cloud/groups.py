"""Which capacity reservations are in which resource group. The groups themselves are moto's.

Membership is asynchronous: EC2 knows of a new member only a while after GroupResources has answered, and instances
that are launched meanwhile are launched beside it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Member:
    """A reservation on its way into a group, by its ARN's last part; ``polls`` counts who asked EC2 for it."""

    since: float
    polls: int = 0
    visible: bool = False


@dataclass
class Groups:
    """Members by the group's ARN, in the order in which they came.

    A member is visible after ``polls`` questions of EC2's GetGroupsForCapacityReservation, or after ``seconds``.
    ``on_visible`` is told the group and the reservation.
    """

    polls: int = 2
    seconds: float = 30.0
    on_visible: Callable[[str, str], None] = lambda group, reservation: None
    _members: dict[str, dict[str, Member]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, group_arn: str, reservation_id: str) -> bool:
        """Add a reservation; returns whether it is visible already, because it was a member before."""
        with self._lock:
            members = self._members.setdefault(group_arn, {})
            if reservation_id not in members:
                members[reservation_id] = Member(time.monotonic())
        return self.listed(group_arn)[reservation_id]

    def remove(self, group_arn: str, reservation_id: str) -> bool:
        """Remove a reservation; returns whether it was in the group."""
        with self._lock:
            return self._members.get(group_arn, {}).pop(reservation_id, None) is not None

    def forget(self, group_arn: str) -> None:
        """Forget a group that was deleted: its reservations, and the instances in them, stay."""
        with self._lock:
            self._members.pop(group_arn, None)

    def listed(self, group_arn: str) -> dict[str, bool]:
        """Return each member's reservation id, and whether EC2 knows of it yet."""
        with self._lock:
            seen = self._settle(group_arn)
            listed = {id: member.visible for id, member in self._members.get(group_arn, {}).items()}
        for id in seen:  # without the lock: who is told has locks of their own, and asks here while they hold them
            self.on_visible(group_arn, id)
        return listed

    def members(self, group_arn: str) -> list[str]:
        """Return the reservations that launches into the group find."""
        return [id for id, visible in self.listed(group_arn).items() if visible]

    def poll(self, reservation_id: str) -> list[str]:
        """Return the groups that EC2 says a reservation is in; each question brings it nearer."""
        with self._lock:
            groups = [arn for arn, members in self._members.items() if reservation_id in members]
            for arn in groups:
                self._members[arn][reservation_id].polls += 1
        return [arn for arn in groups if reservation_id in self.members(arn)]

    def _settle(self, group_arn: str) -> list[str]:
        """Make visible what is due; return it."""
        seen = []
        for id, member in self._members.get(group_arn, {}).items():
            waited = time.monotonic() - member.since
            if not member.visible and (member.polls >= self.polls or waited >= self.seconds):
                member.visible = True
                seen.append(id)
        return seen
