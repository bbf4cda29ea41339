"""One resource at a time: create, update, delete, each with its events."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.cloud.cloudformation.stack import Deployed, Stack
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.registry import Registry, is_custom


class Steps:
    """The steps of an operation on one stack.

    ``half_made`` are what exists of resources whose creation failed, by logical id: they are there until a rollback.
    """

    def __init__(self, stack: Stack, types: Registry) -> None:
        self._stack = stack
        self._types = types
        self.half_made: dict[str, Deployed] = {}

    def create(self, logical_id: str, definition: dict[str, Any], properties: Any, needs: frozenset[str]) -> Deployed:
        """Create a resource; when that fails half way, what was claimed is in ``half_made``."""
        kind, request = self._request(logical_id, definition["Type"], properties)

        def work() -> Made:
            kind.check(request)
            return self._create(kind, request, definition, needs)

        return _deployed(definition, request, self._timed("CREATE", request, None, work), needs)

    def update(self, old: Deployed, definition: dict[str, Any], properties: Any, needs: frozenset[str]) -> Deployed:
        """Bring a resource to other properties; a physical id that changes means a new resource."""
        kind, request = self._request(old.logical_id, definition["Type"], properties)
        changed = {
            key
            for key in old.properties.keys() | properties.keys()
            if old.properties.get(key) != properties.get(key) and key not in kind.harmless
        }
        # A custom resource's Tags are a property like any other: its function hears of them.
        retagged = "Tags" in changed and not is_custom(old.type)
        if retagged:
            changed.remove("Tags")
        kept = Made(old.physical_id, old.attributes)
        if not changed and not retagged:
            return _deployed(definition, request, kept, needs)

        def work() -> Made:
            kind.check(request)
            if changed & kind.replaced_by:
                reason = f"Requested update requires the creation of a new physical resource: {sorted(changed)}"
                self._stack.event(old.logical_id, old.type, old.physical_id, "UPDATE_IN_PROGRESS", reason)
                return self._create(kind, request, definition, needs)
            kind.refuse_update(changed)
            made = kind.update(kept, request, old.properties) if changed else kept
            if retagged:
                kind.retag(made, request, old.properties)
            return made

        return _deployed(definition, request, self._timed("UPDATE", request, old.physical_id, work), needs)

    def _create(self, kind: ResourceType, request: Request, definition: dict[str, Any], needs: frozenset[str]) -> Made:
        try:
            return kind.create(request)
        except Exception:
            if request.claimed is not None:
                half = _deployed(definition, request, Made(request.claimed), needs)
                self.half_made[request.logical_id] = replace(half, failed=True)
            raise

    def delete(self, deployed: Deployed) -> None:
        """Delete a resource."""
        kind, request = self._request(deployed.logical_id, deployed.type, deployed.properties)
        self._delete(deployed.logical_id, deployed.physical_id, kind, request)

    def skip(self, deployed: Deployed) -> None:
        """Leave a resource behind, as its deletion policy says."""
        self._stack.event(deployed.logical_id, deployed.type, deployed.physical_id, "DELETE_SKIPPED")

    def _delete(self, logical_id: str, physical_id: str, kind: ResourceType, request: Request) -> None:
        def work() -> Made:
            try:
                kind.delete(physical_id, request)
            except (ClientError, RefusedError) as error:
                # On AWS what is gone already counts as deleted. A custom resource's function must be there, though.
                if is_custom(request.type) or not _GONE.search(_code(error)):
                    raise
            return Made(physical_id)

        self._timed("DELETE", request, physical_id, work)

    def _request(self, logical_id: str, type: str, properties: Any) -> tuple[ResourceType, Request]:
        request = Request(
            stack_name=self._stack.name,
            stack_id=self._stack.id,
            logical_id=logical_id,
            type=type,
            properties=properties,
        )
        return self._types.get(type), request

    def _timed(self, action: str, request: Request, physical_id: str | None, work: Callable[[], Made]) -> Made:
        self._stack.event(request.logical_id, request.type, physical_id, f"{action}_IN_PROGRESS")
        started = time.monotonic()
        try:
            made = work()
        except Exception as error:
            self._stack.event(
                request.logical_id,
                request.type,
                request.claimed or physical_id,
                f"{action}_FAILED",
                reason_of(error),
                time.monotonic() - started,
            )
            raise
        self._stack.event(
            request.logical_id,
            request.type,
            made.physical_id,
            f"{action}_COMPLETE",
            seconds=time.monotonic() - started,
        )
        return made


_GONE = re.compile(r"NotFound|NoSuch|ResourceNotFoundException")


def _code(error: ClientError | RefusedError) -> str:
    return error.code if isinstance(error, RefusedError) else str(error.response["Error"]["Code"])


def reason_of(error: BaseException) -> str:
    """Return the status reason for an error; what is neither AWS's nor ours keeps its type's name."""
    if isinstance(error, ClientError):
        return f"{error.response['Error'].get('Message', error)} (Error Code: {error.response['Error']['Code']})"
    if isinstance(error, RefusedError):
        return str(error) if error.code == "ValidationError" else f"{error} (Error Code: {error.code})"
    if isinstance(error, BotoCoreError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _deployed(definition: dict[str, Any], request: Request, made: Made, needs: frozenset[str]) -> Deployed:
    retain = ("Retain", "RetainExceptOnCreate", "Snapshot")
    return Deployed(
        logical_id=request.logical_id,
        type=request.type,
        physical_id=made.physical_id,
        properties=request.properties,
        attributes=dict(made.attributes),
        needs=needs,
        retain=definition.get("DeletionPolicy") in retain,
        retain_when_replaced=definition.get("UpdateReplacePolicy") in retain,
        retain_on_rollback=definition.get("DeletionPolicy") == "Retain",
    )
