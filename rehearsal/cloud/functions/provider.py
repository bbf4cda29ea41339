"""Who answers a custom resource's event, by the rules of CDK's provider framework.

The framework is a Node function that calls the user's function and tells CloudFormation what that said. Here the user's
function is called directly, and what the framework would refuse is refused.
"""

import json
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.access import check_cluster_access
from rehearsal.cloud.functions.definitions import Function
from rehearsal.cloud.functions.node_handlers import NODE_HANDLERS
from rehearsal.cloud.functions.process import invoke

_USER = "USER_ON_EVENT_FUNCTION_ARN"
_MOST_BYTES = 4096


def answer(event: dict[str, Any], seconds: float, account: Account) -> dict[str, Any]:
    """Return PhysicalResourceId and Data; raises RefusedError for an answer that CloudFormation would not take."""
    function = account.functions.get(event["ServiceToken"])
    if "USER_IS_COMPLETE_FUNCTION_ARN" in function.environment:
        raise RefusedError(f"{function.name}: the rehearsal does not emulate providers with an isComplete handler")
    if _USER in function.environment:
        seconds = min(seconds, function.timeout)
        function = account.functions.get(function.environment[_USER])
    said = _call(function, event, seconds, account)
    if said is None:
        said = {}
    if not isinstance(said, dict):
        raise RefusedError(f"{function.name}: return values from user-handlers must be JSON objects, not {said!r}")
    physical_id = said.get("PhysicalResourceId", event.get("PhysicalResourceId", event["RequestId"]))
    if event["RequestType"] == "Delete" and physical_id != event["PhysicalResourceId"]:
        raise RefusedError(
            f'{function.name}: DELETE: cannot change the physical resource ID from "{event["PhysicalResourceId"]}" to '
            f'"{physical_id}" during deletion'
        )
    data = said.get("Data") or {}
    if not isinstance(physical_id, str) or not physical_id:
        raise RefusedError(f"{function.name}: Invalid PhysicalResourceId: {physical_id!r}")
    if not isinstance(data, dict):
        raise RefusedError(f"{function.name}: Data must be a JSON object, not {data!r}")
    if len(json.dumps(said).encode()) > _MOST_BYTES:
        raise RefusedError(f"{function.name}: Response object is too long.")
    return {"PhysicalResourceId": physical_id, "Data": data}


def _call(function: Function, event: dict[str, Any], seconds: float, account: Account) -> Any:
    if function.runtime.startswith("python"):
        check_cluster_access(function, event, account)
        return invoke(function, event, seconds, account)
    if event["ResourceType"] not in NODE_HANDLERS:
        raise RefusedError(f"{function.name} ({function.runtime}): no emulation of {event['ResourceType']}")
    return NODE_HANDLERS[event["ResourceType"]](event, function, account)
