"""Whether the nodes are idle: pure functions of what the node group is at, and of when something last happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .nodes import CHANGEABLE, State


@dataclass(frozen=True)
class Decision:
    """Whether to park the nodes, and why."""

    park: bool
    reason: str


def nothing_to_park(state: State) -> str | None:
    """Return why the nodes cannot be parked now, None where they can."""
    if state.size == 0:
        return "parked already"
    return None if state.status in CHANGEABLE else f"the node group is {state.status}"


def decide(now: datetime, happened: Mapping[str, datetime | None], patience: timedelta) -> Decision:
    """Park once none of what ``happened`` did so in the last ``patience``; None is what never did.

    A job writes at least every two minutes once its driver has its workers, and is awaited for less than ``patience``.
    """
    last, what = max((at, what) for what, at in happened.items() if at is not None)
    idle = now - last
    said = f"{_minutes(idle)} of {_minutes(patience)} minutes since a {what}, at {last:%Y-%m-%dT%H:%M:%SZ}"
    return Decision(idle >= patience, said)


def _minutes(span: timedelta) -> int:
    return max(0, int(span.total_seconds() // 60))
