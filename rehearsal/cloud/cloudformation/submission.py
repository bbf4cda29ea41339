"""What a call submits: a template with its parameters, at once or as a change set."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.cloudformation.template import Template


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What a call gives for a create or an update; ``roll_back`` is False where failures are to be left as they are."""

    template: Template
    given: dict[str, str]
    tags: list[dict[str, str]]
    roll_back: bool = True
    role: str | None = None
    token: str | None = None


@dataclass(kw_only=True)
class ChangeSet:
    """A change set that waits for its execution, or that has no changes."""

    name: str
    id: str
    stack: Stack
    submission: Submission
    parameters: dict[str, Any]
    changes: list[dict[str, Any]]
    status: str
    reason: str | None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
