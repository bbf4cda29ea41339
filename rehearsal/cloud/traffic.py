"""What happens to a call on its way: it is counted, it waits, it is refused, and it may change the world behind it."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.capacity import Capacity
from rehearsal.cloud.errors import RefusedError

VANISH_AFTER = ("CancelCapacityReservation", "CreateCapacityReservation", "GetGroupsForCapacityReservation")


@dataclass(kw_only=True)
class Fault:
    """An error for the next ``times`` calls of an action, such as ``ec2:CreateCapacityReservation``."""

    code: str
    times: int
    message: str
    region: str | None = None


@dataclass(kw_only=True)
class Vanishing:
    """A zone loses what it has free of an instance type right after the next call of an action about it."""

    zone: str
    instance_type: str
    after: str


@dataclass
class Traffic:
    """Counts, delays and faults of the calls from outside. Waiting holds no lock: calls wait at the same time."""

    seconds: float = 0.0
    _vanishing: list[Vanishing] = field(default_factory=list)
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _faults: dict[str, list[Fault]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def arrive(self, service: str, action: str, region: str) -> None:
        """Count a call and let it wait; raises RefusedError for one that is to fail."""
        with self._lock:
            self._counts[service, action, region] += 1
            fault = self._next_fault(f"{service}:{action}", region)
        if self.seconds > 0:
            time.sleep(self.seconds)
        if fault is not None:
            raise RefusedError(fault.message, fault.code)

    def fail(self, action: str, fault: Fault) -> None:
        """Let the next calls of an action fail."""
        with self._lock:
            self._faults.setdefault(action, []).append(fault)

    def let_vanish(self, vanishing: Vanishing) -> None:
        """Plan a loss of capacity; raises RefusedError for an action that says nothing of a zone."""
        if vanishing.after not in VANISH_AFTER:
            raise RefusedError(f"after {vanishing.after!r}: expected one of {', '.join(VANISH_AFTER)}")
        with self._lock:
            self._vanishing.append(vanishing)

    def left(self, action: str, fields: dict[str, Any], capacity: Capacity) -> None:
        """Take away what is planned to go after a call that has just been answered."""
        zone, instance_type = fields.get("AvailabilityZone"), fields.get("InstanceType")
        if action in VANISH_AFTER and "CapacityReservationId" in fields:
            found = capacity.find(fields["CapacityReservationId"])
            zone, instance_type = found.zone, found.instance_type
        with self._lock:
            due = [v for v in self._vanishing if (v.after, v.zone, v.instance_type) == (action, zone, instance_type)]
            for item in due:
                self._vanishing.remove(item)
        for item in due:
            capacity.limit(item.zone, item.instance_type, 0)

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return how many calls there were, by service, action and region."""
        found: dict[str, dict[str, dict[str, int]]] = {}
        with self._lock:
            for (service, action, region), count in sorted(self._counts.items()):
                found.setdefault(service, {}).setdefault(action, {})[region] = count
        return found

    def reset(self) -> None:
        """Count from zero, without delays, faults and vanishing capacity."""
        with self._lock:
            self._counts.clear()
            self._faults.clear()
            self._vanishing.clear()
            self.seconds = 0.0

    def _next_fault(self, action: str, region: str) -> Fault | None:
        waiting = self._faults.get(action, [])
        for fault in waiting:
            if fault.region in (None, region):
                fault.times -= 1
                if fault.times <= 0:
                    waiting.remove(fault)
                return fault
        return None
