"""What a test or a person asks of the emulation itself, below /rehearsal/."""

import json
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.inventory import inventory


def control(method: str, path: str, body: str, account: Account) -> Any:
    """Answer a request; raises RefusedError for one that there is not."""
    match method, path:
        case "GET", "/rehearsal/inventory":
            return inventory(account)
        case "GET", "/rehearsal/events":
            return account.events.read()
        case "POST", "/rehearsal/capacity":
            wanted = json.loads(body)
            account.capacity.limit(wanted["zone"], wanted["instance_type"], int(wanted["count"]))
            return {}
        case "POST", "/rehearsal/quota":
            wanted = json.loads(body)
            account.capacity.quotas[wanted["code"]] = float(wanted["vcpus"])
            return {}
    raise RefusedError(f"no {method} {path}")
