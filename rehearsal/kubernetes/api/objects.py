"""Kubernetes objects as plain dictionaries, and the few questions that everything here asks of them."""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def timestamp(seconds: float | None = None) -> str:
    """Return a time (now, or seconds since the epoch) as Kubernetes writes it."""
    moment = datetime.fromtimestamp(time.time() if seconds is None else seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(text: str) -> float:
    """Return the age in seconds of a time that Kubernetes wrote."""
    return time.time() - datetime.fromisoformat(text).timestamp()


def name_of(obj: Mapping[str, Any]) -> str:
    """Return `metadata.name`."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Mapping[str, Any]) -> str:
    """Return `metadata.namespace`, empty for what has none."""
    return str(obj["metadata"].get("namespace") or "")


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Return `metadata.labels`, empty when there are none."""
    return obj["metadata"].get("labels") or {}


def owned_by(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Whether one of the owner references of `obj` is `owner`."""
    references = obj["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == owner["metadata"]["uid"] for reference in references)


def owner_reference(owner: Mapping[str, Any]) -> Object:
    """Return the reference that makes an object belong to `owner` and go with it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition(obj: Mapping[str, Any], kind: str) -> Object | None:
    """Return the condition of a type, None when it is not stated."""
    conditions: Iterable[Object] = (obj.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == kind), None)


def holds(obj: Mapping[str, Any], kind: str) -> bool:
    """Whether a condition is stated and True."""
    return (condition(obj, kind) or {}).get("status") == "True"


def with_condition(obj: Mapping[str, Any], kind: str, status: str, reason: str, message: str = "") -> list[Object]:
    """Return the conditions of `obj` with one set; its transition time moves only when its status does."""
    conditions: list[Object] = list((obj.get("status") or {}).get("conditions") or [])
    old = condition(obj, kind)
    same = old is not None and old["status"] == status
    new = {"type": kind, "status": status, "reason": reason, "message": message}
    new["lastTransitionTime"] = old["lastTransitionTime"] if same and old else timestamp()
    return [new if entry is old else entry for entry in conditions] + ([] if old else [new])


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null: to the API server they are absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
