"""A stack: what it is made of and what happened to it."""

import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.events import EventLog


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """A resource that exists; ``needs`` are the logical ids that have to outlive it.

    One whose creation has ``failed`` is there all the same, and an update of the stack makes it anew.
    """

    logical_id: str
    type: str
    physical_id: str
    properties: dict[str, Any]
    attributes: dict[str, Any]
    needs: frozenset[str]
    retain: bool = False
    retain_when_replaced: bool = False
    retain_on_rollback: bool = False
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Output:
    """A resolved output; ``export`` is the name under which other stacks import it."""

    key: str
    value: str
    description: str | None
    export: str | None


@dataclass(kw_only=True)
class Stack:
    """One stack. ``orphans`` are resources that could not be deleted after they were replaced."""

    name: str
    id: str
    log: EventLog
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    status: str = "REVIEW_IN_PROGRESS"
    reason: str | None = None
    template: Template | None = None
    given: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    tags: list[dict[str, str]] = field(default_factory=list)
    protected: bool = False
    role: str | None = None
    resources: dict[str, Deployed] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    statuses: dict[str, tuple[str, str | None, datetime]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    token: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def exports(self) -> dict[str, str]:
        """Exported values by name."""
        return {output.export: output.value for output in self.outputs.values() if output.export}

    def set_status(self, status: str, reason: str | None = None, seconds: float | None = None) -> None:
        """Change the stack's status, with an event."""
        with self.lock:
            self.status, self.reason = status, reason
        self.event(self.name, "AWS::CloudFormation::Stack", self.id, status, reason, seconds)

    def event(
        self,
        logical_id: str,
        type: str,
        physical_id: str | None,
        status: str,
        reason: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Record what happened, in the stack's events and in the log."""
        now = datetime.now(UTC)
        with self.lock:
            if type != "AWS::CloudFormation::Stack":
                self.statuses[logical_id] = (status, reason, now)
            self.events.append(
                {
                    "StackId": self.id,
                    "EventId": str(uuid.uuid4()),
                    "StackName": self.name,
                    "LogicalResourceId": logical_id,
                    "PhysicalResourceId": physical_id or "",
                    "ResourceType": type,
                    "Timestamp": now,
                    "ResourceStatus": status,
                    "ResourceStatusReason": reason,
                    "ClientRequestToken": self.token,
                }
            )
        self.log.write(
            stack=self.name,
            logical_id=logical_id,
            type=type,
            action=status,
            physical_id=physical_id,
            seconds=None if seconds is None else round(seconds, 3),
            reason=reason,
        )
