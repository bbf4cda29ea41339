"""What passes between the events and the modes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .here import Here


@dataclass(frozen=True, kw_only=True)
class Request:
    """One event, however often it is tried: its id, the hold its reservations belong to, and the stack's reservations.

    ``found`` are all that EC2 shows, as they were before leftovers were cancelled. ``account`` is the stack's. ``here``
    are the nodes that run already, where there are any.
    """

    id: str
    hold: str
    account: str | None
    found: Sequence[dict[str, Any]]
    here: Here | None = None

    def missing(self, count: int, zone: str) -> int:
        """Return how many of ``count`` nodes do not run in a zone already."""
        return max(0, count - self.here.running(zone)) if self.here else count


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The chosen zone, the table of all zones on one line, why this one, and the reservations for the nodes, if any.

    ``hold`` is the hold that they go on under, where it is not the request's own.
    """

    zone: str
    table: str
    reason: str
    held: str | None = None
    hold: str | None = None
