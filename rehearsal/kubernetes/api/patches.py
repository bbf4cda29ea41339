"""The four ways to change an object: JSON patch, merge patch, strategic merge patch, and server-side apply."""

from collections.abc import Mapping
from typing import Any

from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.schemas import resolved

Schema = Mapping[str, Any]


def merge(live: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386): null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return patch
    made = dict(live) if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge(made.get(key), value)
    return made


def strategic(live: Any, patch: Mapping[str, Any], schema: Schema) -> Object:
    """Apply a strategic merge patch: like `merge`, but lists of a merge key are merged element by element."""
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    made: Object = dict(live) if isinstance(live, dict) else {}
    if "$retainKeys" in patch:
        made = {key: value for key, value in made.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            primitives = key.partition("/")[2]
            made[primitives] = [item for item in made.get(primitives) or [] if item not in value]
    for key, value in patch.items():
        field = field_schema(schema, key)
        if key.startswith("$"):
            continue
        if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            made.pop(key, None)
        elif isinstance(value, dict):
            made[key] = strategic(made.get(key), value, field)
        elif isinstance(value, list) and merges(field):
            made[key] = _merge_list(made.get(key) or [], value, field)
        else:
            made[key] = value
    for key, order in patch.items():
        if key.startswith("$setElementOrder/") and (field_name := key.partition("/")[2]) in made:
            made[field_name] = _ordered(made[field_name], order, field_schema(schema, field_name))
    return made


def applied(live: Object, before: Object, after: Object, schema: Schema) -> Object:
    """Server-side apply: remove from `live` what the manager's last apply set and this one lacks, then merge."""
    removed = _without(live, before, after, schema)
    return strategic(removed if isinstance(removed, dict) else {}, after, schema)


def field_schema(schema: Schema, key: str) -> Schema:
    """Return the schema of a field, empty where nothing is known of it."""
    schema = resolved(schema)
    field = (schema.get("properties") or {}).get(key, schema.get("additionalProperties"))
    return resolved(field) if isinstance(field, dict) else {}


def merges(schema: Schema) -> bool:
    """Whether lists of this schema are merged rather than replaced."""
    if "merge" in str(schema.get("x-kubernetes-patch-strategy", "")):
        return True
    return schema.get("x-kubernetes-list-type") in ("map", "set") and "x-kubernetes-patch-strategy" not in schema


def _keys(schema: Schema) -> tuple[str, ...]:
    if key := schema.get("x-kubernetes-patch-merge-key"):
        return (str(key),)
    return tuple(schema.get("x-kubernetes-list-map-keys") or ())


def _identity(item: Any, keys: tuple[str, ...]) -> Any:
    return tuple(item.get(key) for key in keys) if isinstance(item, dict) and keys else item


def _merge_list(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    keys = _keys(schema)
    items = schema.get("items") or {}
    if any(isinstance(item, dict) and item == {"$patch": "replace"} for item in patch):
        return [item for item in patch if item != {"$patch": "replace"}]
    made = list(live)
    for item in patch:
        places = [n for n, old in enumerate(made) if _identity(old, keys) == _identity(item, keys)]
        if isinstance(item, dict) and item.get("$patch") == "delete":
            made = [old for n, old in enumerate(made) if n not in places]
        elif places:
            made[places[0]] = strategic(made[places[0]], item, items) if isinstance(item, dict) else item
        else:
            made.append(strategic({}, item, items) if isinstance(item, dict) else item)
    return made


def _ordered(items: list[Any], order: list[Any], schema: Schema) -> list[Any]:
    keys = _keys(schema)
    wanted = [_identity(item, keys) for item in order]
    listed = sorted(
        (item for item in items if _identity(item, keys) in wanted),
        key=lambda item: wanted.index(_identity(item, keys)),
    )
    return listed + [item for item in items if _identity(item, keys) not in wanted]


def _without(live: Any, before: Any, after: Any, schema: Schema) -> Any:
    if isinstance(live, dict) and isinstance(before, dict) and isinstance(after, dict):
        made = dict(live)
        for key, value in before.items():
            if key not in after:
                made.pop(key, None)
            elif key in made:
                made[key] = _without(made[key], value, after[key], field_schema(schema, key))
        return made
    if isinstance(live, list) and isinstance(before, list) and isinstance(after, list) and merges(schema):
        keys, items = _keys(schema), schema.get("items") or {}
        old = {repr(_identity(item, keys)): item for item in before}
        new = {repr(_identity(item, keys)): item for item in after}
        kept = [item for item in live if repr(_identity(item, keys)) in new or repr(_identity(item, keys)) not in old]
        return [
            _without(item, old.get(repr(_identity(item, keys))), new.get(repr(_identity(item, keys))), items)
            for item in kept
        ]
    return live
