"""Custom resources: whatever a function makes of them."""

import uuid
from typing import Any

from rehearsal.cloud.cloudformation.intrinsics import text
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.provider import answer
from rehearsal.cloud.resources.base import Made, Request, ResourceType

_LONGEST_SECONDS = 3600


class CustomResource(ResourceType):
    """A custom resource; CloudFormation sends all its properties, as text."""

    def check(self, request: Request) -> None:
        """Accept every property: they are the function's business."""
        if "ServiceToken" not in request.properties:
            raise RefusedError("Every custom resource must have a ServiceToken")

    def refuse_update(self, changed: set[str]) -> None:
        """Accept every change."""

    def create(self, request: Request) -> Made:
        """Send Create."""
        return self._send("Create", request, {})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Send Update; an id that changes makes a new resource, and the old one is deleted later."""
        if old["ServiceToken"] != request.properties["ServiceToken"]:
            raise RefusedError("Modifying service token is not allowed.")
        given = {"PhysicalResourceId": made.physical_id, "OldResourceProperties": _as_text(old)}
        return self._send("Update", request, given)

    def delete(self, physical_id: str, request: Request) -> None:
        """Send Delete."""
        self._send("Delete", request, {"PhysicalResourceId": physical_id})

    def _send(self, kind: str, request: Request, given: dict[str, Any]) -> Made:
        seconds = float(request.properties.get("ServiceTimeout", _LONGEST_SECONDS))
        event = {
            "RequestType": kind,
            "ServiceToken": request.properties["ServiceToken"],
            "ResponseURL": "...",
            "StackId": request.stack_id,
            "RequestId": str(uuid.uuid4()),
            "LogicalResourceId": request.logical_id,
            "ResourceType": request.type,
            "ResourceProperties": _as_text(request.properties),
            **given,
        }
        said = answer(event, seconds, self.account)
        return Made(said["PhysicalResourceId"], said["Data"])


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return text(value)
