"""What the API server answers when it refuses, in Kubernetes' own words: kubectl prints them as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.kubernetes.api.objects import Object


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing wrong with an object: where (`spec.template`), and what Kubernetes says of it."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class ApiError(Exception):
    """A `Status` other than success."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

    def status(self) -> Object:
        """Return the body of the answer."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


def qualified(name: str, group: str) -> str:
    """Return a kind or a plural as messages name it: `jobs.batch`."""
    return f"{name}.{group}" if group else name


def not_found(plural: str, group: str, name: str) -> ApiError:
    """404 for an object."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, {"name": name, "group": group, "kind": plural})


def no_such_resource() -> ApiError:
    """404 for a path, an API version or a kind."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(plural: str, group: str, name: str) -> ApiError:
    """409 for a second object of a name."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, {"name": name, "group": group, "kind": plural})


def conflict(plural: str, group: str, name: str, why: str = "") -> ApiError:
    """409 for a write that is based on an older version of the object."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", message, {"name": name, "group": group, "kind": plural})


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    """403 from an admission rule."""
    message = f'{qualified(plural, group)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, {"name": name, "group": group, "kind": plural})


def bad_request(message: str) -> ApiError:
    """400 for what cannot be read as an object of its kind."""
    return ApiError(400, "BadRequest", message)


def undecodable(kind: str, version: str, why: str) -> ApiError:
    """400 for unknown fields and wrong types, in the words of the decoder."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def invalid(kind: str, group: str, name: str, faults: Sequence[Fault]) -> ApiError:
    """422 for an object that was read and breaks rules."""
    texts = [f"{fault.field}: {fault.message}" for fault in faults]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes: list[dict[str, Any]] = [
        {"reason": fault.reason, "message": fault.message, "field": fault.field} for fault in faults
    ]
    message = f'{qualified(kind, group)} "{name}" is invalid: {listed}'
    return ApiError(422, "Invalid", message, {"name": name, "group": group, "kind": kind, "causes": causes})
