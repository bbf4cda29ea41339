"""What a request makes of an object, before the rules are asked: a new one identified, a stored one changed."""

import uuid
from dataclasses import dataclass
from typing import Any

import jsonpatch

from rehearsal.kubernetes.api import errors, patches
from rehearsal.kubernetes.api.objects import Object, name_of, without_nulls
from rehearsal.kubernetes.api.resources import Resource
from rehearsal.kubernetes.api.schemas import Schema

# Random characters that generateName appends.
_SUFFIX = 5
JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A change to an object: its media type and body. `manager` is who applies."""

    type: str
    body: Any
    manager: str = ""


def identified(resource: Resource, namespace: str, obj: Object) -> Object:
    """Return a new object with its kind, name and namespace; refuse one that contradicts the request."""
    if obj.get("kind", resource.kind) != resource.kind:
        raise errors.bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    if (given := obj.get("apiVersion", resource.api_version)) != resource.api_version:
        why = f"the API version in the data ({given}) does not match the expected API version ({resource.api_version})"
        raise errors.bad_request(why)
    metadata = dict(obj.get("metadata") or {})
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            fault = errors.Fault(
                field="metadata.name",
                message="Required value: name or generateName is required",
                reason="FieldValueRequired",
            )
            raise errors.invalid(resource.kind, resource.group, "", [fault])
        metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:_SUFFIX]
    if resource.namespaced:
        if metadata.setdefault("namespace", namespace) != namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
    else:
        metadata.pop("namespace", None)
    for name in ("resourceVersion", "managedFields", "deletionTimestamp"):
        metadata.pop(name, None)
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def patched(resource: Resource, schema: Schema, old: Object, patch: Patch) -> Object:
    """Return an object changed by a patch; 415 for a media type that its kind does not take."""
    made: Object
    match patch.type:
        case t if t == JSON_PATCH:
            try:
                made = jsonpatch.apply_patch(old, patch.body)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
                message = f"the server rejected our request due to an error in our request: {error}"
                raise errors.ApiError(422, "Invalid", message) from None
        case t if t == MERGE_PATCH:
            made = patches.merge(old, patch.body)
        case t if t == STRATEGIC_PATCH and not resource.crd:
            made = patches.strategic(old, patch.body, schema)
        case _:
            message = (
                "the body of the request was in an unknown format - accepted media types include: "
                f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"
            )
            raise errors.ApiError(415, "UnsupportedMediaType", message)
    return made


def next_version(resource: Resource, old: Object, new: Object, subresource: str) -> Object:
    """Return what an update leaves of an object: nobody changes its identity, and status only as `status`."""
    base = new["metadata"].get("resourceVersion")
    if base not in (None, "", old["metadata"]["resourceVersion"]):
        raise errors.conflict(resource.plural, resource.group, name_of(old))
    if subresource == "status":
        return {**old, "status": new.get("status") or {}}
    if subresource == "finalize":
        return {**old, "spec": new.get("spec") or {}}
    fixed = {key: old["metadata"].get(key) for key in ("name", "namespace", "uid", "creationTimestamp", "generation")}
    fixed["deletionTimestamp"] = old["metadata"].get("deletionTimestamp")
    metadata = without_nulls({**new["metadata"], **fixed})
    new = {**new, "apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": metadata}
    if resource.status:
        new.pop("status", None)
        new |= {"status": old["status"]} if "status" in old else {}
    return new


def counted(old: Object, new: Object) -> Object:
    """Return an updated object under its generation: the next one when anything but metadata and status changed."""
    generation = old["metadata"].get("generation")
    if generation is None or _content(old) == _content(new):
        return new
    return {**new, "metadata": {**new["metadata"], "generation": generation + 1}}


def _content(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
