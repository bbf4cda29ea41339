"""The schedule's event: park the nodes when they are idle."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .clients import Clients
from .idle import decide
from .log import log
from .nodes import NodeGroup, look, scale


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The nodes, the folder in the bucket that whoever uses them writes to, and how long they may be idle."""

    group: NodeGroup
    bucket: str
    prefix: str
    patience: timedelta


def on_schedule(event: Mapping[str, str], watched: Watched, clients: Clients) -> dict[str, Any]:
    """Look once, and return what was decided: ``parked`` and ``reason``. The event's ``at`` is the time, in UTC."""
    now = datetime.fromisoformat(event["at"])
    state = look(watched.group, clients)
    # Last, and right before the nodes are parked: what wakes them writes first, and then looks at their number.
    decision = decide(now, state, newest_write(watched.bucket, watched.prefix, clients), watched.patience)
    parked = decision.park and scale(watched.group, 0, state.largest, clients, keep_ms=0)
    answer = {"parked": parked, "reason": decision.reason}
    log("looked", nodes=state.size, **answer)
    return answer


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
