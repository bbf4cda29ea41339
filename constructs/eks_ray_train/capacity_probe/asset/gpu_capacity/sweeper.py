"""The second custom resource: what it does is be deleted.

When the probe's function dies during Create, the provider framework reports a failure and then swallows the Delete of
what, as far as it knows, was never made. CloudFormation deletes this resource all the same: it was made before.
"""

from collections.abc import Mapping
from typing import Any

from .clients import Clients
from .leftovers import sweep_quietly
from .properties import stack_name_of

SWEEPER_TYPE = "Custom::GpuCapacitySweeper"


def on_sweeper_event(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """Return the answer; on Delete, cancel every reservation of the stack. Never fails."""
    stack_name = stack_name_of(event["ResourceProperties"])
    if event["RequestType"] == "Delete":
        sweep_quietly(stack_name, lambda reservation: False, clients, looks=2)
    return {"PhysicalResourceId": event.get("PhysicalResourceId") or f"{stack_name}/capacity-reservations"}
