"""What a resource type is. To add one, copy a small file of this folder: every class here is found by its ``type``."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError


@dataclass(kw_only=True)
class Request:
    """What is asked of a resource type for one resource, with its properties resolved."""

    stack_name: str
    stack_id: str
    logical_id: str
    type: str
    properties: dict[str, Any]
    claimed: str | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12].upper())

    def name(self, given: str, limit: int = 255) -> str:
        """Return the property that names the resource, or else a name as CloudFormation makes them."""
        if given in self.properties:
            return str(self.properties[given])
        stem = f"{self.stack_name}-{self.logical_id}"
        return f"{stem[: limit - 13]}-{self.token}"

    def claim(self, physical_id: str) -> None:
        """Say that something exists from here on, so that it is deleted if the creation fails half way."""
        self.claimed = physical_id


@dataclass(frozen=True)
class Made:
    """A resource that exists: what Ref gives, and what Fn::GetAtt gives."""

    physical_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


def ignored(**reasons: str) -> Mapping[str, str]:
    """Return properties that a type may ignore, each with the reason."""
    return reasons


class ResourceType(ABC):
    """Creates, updates and deletes resources of one type.

    ``properties`` are those that the emulation acts on; ``harmless`` those that it may ignore, each with the reason.
    Every other property is refused. ``replaced_by`` are the properties whose change makes a new resource on AWS, and
    ``updated_by`` those that ``update`` acts on; a change of another one is refused too. Tags are ``retag``'s business.
    """

    type: ClassVar[str]
    properties: ClassVar[frozenset[str]] = frozenset()
    harmless: ClassVar[Mapping[str, str]] = {}
    replaced_by: ClassVar[frozenset[str]] = frozenset()
    updated_by: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, account: Account) -> None:
        self.account = account

    def check(self, request: Request) -> None:
        """Refuse properties that would be ignored."""
        if unknown := sorted(request.properties.keys() - self.properties - self.harmless.keys()):
            raise RefusedError(f"{request.type}: the rehearsal does not emulate the properties {unknown}")

    def refuse_update(self, changed: set[str]) -> None:
        """Refuse changes that ``update`` would ignore."""
        if unknown := sorted(changed - self.updated_by):
            raise RefusedError(f"{self.type}: the rehearsal does not emulate updates of {unknown}")

    @abstractmethod
    def create(self, request: Request) -> Made:
        """Create the resource; raises RefusedError, or what boto3 raises."""

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change a resource in place from its ``old`` properties to the request's."""
        raise RefusedError(f"{request.type}: the rehearsal does not emulate updates")

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Bring the tags from those of the ``old`` properties to the request's."""
        raise RefusedError(f"{request.type}: the rehearsal does not emulate updates of ['Tags']")

    @abstractmethod
    def delete(self, physical_id: str, request: Request) -> None:
        """Delete the resource; what is gone already is no error on AWS either."""
