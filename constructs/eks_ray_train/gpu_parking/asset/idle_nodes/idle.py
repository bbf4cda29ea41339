"""Whether the nodes are idle: a pure function of when something last happened."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .nodes import CHANGEABLE, State


@dataclass(frozen=True)
class Decision:
    """Whether to park the nodes, and why."""

    park: bool
    reason: str


def decide(now: datetime, state: State, newest_write: datetime | None, patience: timedelta) -> Decision:
    """Park once neither the group was changed nor a run has written for ``patience``.

    A job writes at least every two minutes once its driver has its workers, and is awaited for less than ``patience``.
    """
    if state.size == 0:
        return Decision(False, "parked already")
    if state.status not in CHANGEABLE:
        return Decision(False, f"the node group is {state.status}")
    last, what = max(
        (at, what)
        for at, what in ((state.changed, "node group changed"), (newest_write, "run wrote"))
        if at is not None
    )
    idle = now - last
    said = f"{_minutes(idle)} of {_minutes(patience)} minutes since a {what}, at {last:%Y-%m-%dT%H:%M:%SZ}"
    return Decision(idle >= patience, said)


def _minutes(span: timedelta) -> int:
    return max(0, int(span.total_seconds() // 60))
