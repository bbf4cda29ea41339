"""The tags by which a reservation is known again, whoever made it and died.

``eks-ray-train:stack`` is on all. ``eks-ray-train:request`` names the event that made it. ``eks-ray-train:hold`` names
the choice that it is held for, and ``eks-ray-train:nodes`` the nodes, such as 1-2, or 3-4 after the group has grown, or
3-4/1 where nodes that ran already took the room of 3-4 and it was reserved once more; a proof has neither.
"""

import re
from collections.abc import Mapping
from typing import Any

REQUEST_TAG = "eks-ray-train:request"
HOLD_TAG = "eks-ray-train:hold"
NODES_TAG = "eks-ray-train:nodes"

_NODES = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")

OPEN = ("active", "pending")
"""States of a reservation that bills, or soon will."""

Reservation = Mapping[str, Any]
"""A CapacityReservation as EC2 describes it."""


def tag_of(reservation: Reservation, key: str) -> str | None:
    """Return the value of a tag."""
    return next((str(tag["Value"]) for tag in reservation.get("Tags", []) if tag["Key"] == key), None)


def is_open(reservation: Reservation) -> bool:
    """Tell whether it bills, or soon will."""
    return reservation["State"] in OPEN


def held_for(reservation: Reservation, hold: str) -> bool:
    """Tell whether it is open and belongs to a hold."""
    return is_open(reservation) and tag_of(reservation, HOLD_TAG) == hold


def nodes(first: int, last: int, again: int = 0) -> str:
    """Return the value of the tag for the nodes from ``first`` to ``last``, reserved ``again`` times before."""
    return f"{first}-{last}/{again}" if again else f"{first}-{last}"


def first_node(reservation: Reservation) -> int:
    """Return the number of the first node that it is for; 0 for a proof."""
    return _numbers(reservation)[0]


def last_node(reservation: Reservation) -> int:
    """Return the number of the last node that it has room for; 0 for a proof."""
    first, last, _ = _numbers(reservation)
    return min(last, first + int(reservation["TotalInstanceCount"]) - 1)  # somebody may have made it smaller


def times_again(reservation: Reservation) -> int:
    """Return how often its nodes had been reserved before it."""
    return _numbers(reservation)[2]


def _numbers(reservation: Reservation) -> tuple[int, int, int]:
    found = _NODES.fullmatch(tag_of(reservation, NODES_TAG) or "")
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)
