"""What a test or a person asks of the emulation itself, below /rehearsal/."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.reservation_views import reservation_view
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.inventory import inventory
from rehearsal.cloud.schedules import run_schedules
from rehearsal.cloud.traffic import Fault, Vanishing


def control(method: str, path: str, body: str, account: Account) -> Any:
    """Answer a request; raises RefusedError for one that there is not, and for fields that are wrong."""
    found = _CONTROLS.get((method, path))
    if found is None:
        known = ", ".join(f"{method} {path}" for method, path in _CONTROLS)
        raise RefusedError(f"no {method} {path}; there are {known}")
    try:
        return found(account, **(json.loads(body) if body else {}))
    except (TypeError, ValueError) as error:
        raise RefusedError(f"{method} {path}: {error}") from error


def _capacity(account: Account, zone: str, instance_type: str, count: int | None) -> Any:
    account.capacity.limit(zone, instance_type, None if count is None else int(count))
    return {}


def _vanish(account: Account, zone: str, instance_type: str, after: str) -> Any:
    account.traffic.let_vanish(Vanishing(zone=zone, instance_type=instance_type, after=after))
    return {}


def _reservation(account: Account, tags: Mapping[str, str] | None = None, state: str = "active", **given: Any) -> Any:
    """Plant a reservation that was there before; the fields are those of CreateCapacityReservation."""
    needed = {"InstanceType", "AvailabilityZone", "InstanceCount"}
    if missing := sorted(needed - given.keys()):
        raise RefusedError(f"a reservation needs {missing}")
    made = account.capacity.plant({"InstanceMatchCriteria": "targeted", **given}, dict(tags or {}), state)
    return reservation_view(made, account)


def _quota(account: Account, code: str, vcpus: float | None, region: str | None = None) -> Any:
    account.capacity.quotas.set(region or account.region, code, None if vcpus is None else float(vcpus))
    return {}


def _score(account: Account, zone: str, score: int) -> Any:
    account.capacity.scores[zone] = int(score)
    return {}


def _membership(account: Account, polls: int, seconds: float) -> Any:
    account.groups.polls, account.groups.seconds = int(polls), float(seconds)
    return {}


def _clock(account: Account, minutes: float) -> Any:
    """Move the clock of the reservations' end dates, node groups and schedules ``minutes`` ahead of the real one."""
    ahead = timedelta(minutes=float(minutes))
    account.capacity.now = lambda: datetime.now(UTC) + ahead
    return {}


def _latency(account: Account, ms: float) -> Any:
    account.traffic.seconds = float(ms) / 1000
    return {}


def _fault(
    account: Account, action: str, code: str, times: int = 1, message: str | None = None, region: str | None = None
) -> Any:
    if ":" not in action:
        raise RefusedError(f"action {action!r}: expected SERVICE:ACTION, such as ec2:CreateCapacityReservation")
    text = message or f"{code}, because the rehearsal was told so"
    account.traffic.fail(action, Fault(code=code, times=int(times), message=text, region=region))
    return {}


def _reset(account: Account) -> Any:
    account.traffic.reset()
    return {}


def _chart(account: Account, repository: str, name: str, version: str | None) -> Any:
    return account.charts.choose(repository, name, version)


def _chart_pulled(account: Account, repository: str, name: str, version: str | None, error: str | None) -> Any:
    return account.charts.pulled(repository, name, version, error)


_CONTROLS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("GET", "/rehearsal/inventory"): inventory,
    ("GET", "/rehearsal/events"): lambda account: account.events.read(),
    ("GET", "/rehearsal/calls"): lambda account: account.traffic.counts(),
    ("DELETE", "/rehearsal/calls"): _reset,
    ("POST", "/rehearsal/capacity"): _capacity,
    ("POST", "/rehearsal/capacity/vanish"): _vanish,
    ("POST", "/rehearsal/reservations"): _reservation,
    ("POST", "/rehearsal/quota"): _quota,
    ("POST", "/rehearsal/score"): _score,
    ("POST", "/rehearsal/membership"): _membership,
    ("POST", "/rehearsal/clock"): _clock,
    ("POST", "/rehearsal/schedules"): run_schedules,
    ("POST", "/rehearsal/latency"): _latency,
    ("POST", "/rehearsal/faults"): _fault,
    ("POST", "/rehearsal/chart"): _chart,
    ("POST", "/rehearsal/chart/pulled"): _chart_pulled,
}
