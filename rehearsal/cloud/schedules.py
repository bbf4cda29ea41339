"""The schedules of EventBridge Scheduler: here none runs by itself, but all of them when they are told to."""

import json
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.process import invoke

SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"


def names_of_schedules(account: Account) -> list[str]:
    """Return the names of all schedules."""
    pages = account.client("scheduler").get_paginator("list_schedules").paginate()
    return sorted(item["Name"] for page in pages for item in page["Schedules"])


def run_schedules(account: Account, name: str | None = None) -> list[dict[str, Any]]:
    """Run each schedule that is ENABLED once, or the one of a name, now by the account's clock.

    Return ``schedule``, ``function`` and ``answer`` of each, or ``error`` instead of the answer. Raises RefusedError
    for a name that no schedule has, or one that is DISABLED.
    """
    known = names_of_schedules(account)
    if name is not None and name not in known:
        raise RefusedError(f"name {name!r}: no such schedule; there are {known}")
    scheduler, now = account.client("scheduler"), f"{account.capacity.now():%Y-%m-%dT%H:%M:%SZ}"
    found = [scheduler.get_schedule(Name=item) for item in known if name in (None, item)]
    if name is not None and found[0]["State"] != "ENABLED":
        raise RefusedError(f"name {name!r}: the schedule is {found[0]['State']}")
    return [_run(item["Name"], item["Target"], now, account) for item in found if item["State"] == "ENABLED"]


def _run(name: str, target: dict[str, Any], now: str, account: Account) -> dict[str, Any]:
    ran = {"schedule": name, "function": target["Arn"].rsplit(":", 1)[-1]}
    try:
        function = account.functions.get(target["Arn"])
        event = json.loads(target["Input"].replace(SCHEDULED_TIME, now))
        return {**ran, "answer": invoke(function, event, function.timeout, account)}
    except RefusedError as error:
        return {**ran, "error": str(error)}
