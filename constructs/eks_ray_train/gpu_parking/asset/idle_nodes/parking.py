"""The schedule's event: park the nodes when they are idle."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .clients import Clients
from .idle import Decision, decide, nothing_to_park
from .log import log
from .nodes import NodeGroup, State, look, newest_launch, scale


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The nodes, the bucket and prefix that runs write below, and how long nobody may have.

    ``sign`` is the object there by which a deploy says that a job is about to come.
    """

    group: NodeGroup
    bucket: str
    prefix: str
    sign: str
    patience: timedelta


def on_schedule(event: Mapping[str, str], watched: Watched, clients: Clients) -> dict[str, Any]:
    """Look once, and return what was decided: ``parked`` and ``reason``. The event's ``at`` is the time, in UTC.

    That is when it was to look: an event that comes late parks no sooner for it.
    """
    state = look(watched.group, clients)
    reason = nothing_to_park(state)
    decision = _decide(event["at"], state, watched, clients) if reason is None else Decision(False, reason)
    parked = decision.park and scale(watched.group, 0, state.largest, clients)
    answer = {"parked": parked, "reason": decision.reason}
    log("looked", nodes=state.size, **answer)
    return answer


def _decide(at: str, state: State, watched: Watched, clients: Clients) -> Decision:
    now = datetime.fromisoformat(at)
    happened = {
        "node group was made": state.created,
        "node was launched": newest_launch(state.scaling_group, clients),
        "run wrote": newest_write(watched.bucket, watched.prefix, clients),
    }
    decision = decide(now, happened, watched.patience)
    if not decision.park:
        return decision
    # Right before the nodes go. What wakes them gives this sign first, and looks at their number when what is still to
    # come here has come or failed: hence no second try either. The next look is in five minutes.
    signed = newest_write(watched.bucket, watched.sign, clients)
    return decide(now, happened | {"deploy began": signed}, watched.patience)


def newest_write(bucket: str, prefix: str, clients: Clients) -> datetime | None:
    """Return when an object below ``prefix`` was last written; None when there is none."""
    newest: datetime | None = None
    more: dict[str, Any] = {}
    while True:
        page = clients.s3.list_objects_v2(Bucket=bucket, Prefix=prefix, **more)
        times = [item["LastModified"] for item in page.get("Contents", [])]
        newest = max([*times, *([newest] if newest else [])], default=None)
        if not page.get("IsTruncated"):
            return newest
        more = {"ContinuationToken": page["NextContinuationToken"]}
