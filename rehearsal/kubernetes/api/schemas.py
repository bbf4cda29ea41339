"""The schemas of kinds: Kubernetes' own for 1.36, strict, and those of CRDs as JSON Schema."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

KUBERNETES = "1.36"
_FOLDER = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"v{KUBERNETES}.0-local-strict"
_STRUCTURAL = {"description", "default", "format", "nullable", "example", "externalDocs"}
Schema = dict[str, Any]


@cache
def _definitions() -> Schema:
    loaded: Schema = json.loads((_FOLDER / "_definitions.json").read_text())
    return loaded


@cache
def core_schema(api_version: str, kind: str) -> Schema | None:
    """Return the strict schema of one of Kubernetes' own kinds, None when there is no such kind in 1.36."""
    group, _, version = api_version.rpartition("/")
    file = f"{kind.lower()}-{'-'.join(filter(None, (group.split('.')[0], version)))}.json"
    path = _FOLDER / file
    return json.loads(path.read_text()) if path.is_file() else None


@cache
def core_validator(api_version: str, kind: str) -> Any:
    """Return the validator of one of Kubernetes' own kinds, None when there is no such kind in 1.36."""
    schema = core_schema(api_version, kind)
    if schema is None:
        return None
    definitions = Resource.from_contents(_definitions())
    registry: Any = Resource.from_contents(schema) @ (definitions @ Registry())
    return Draft202012Validator(schema, registry=registry)


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference to its definition, keeping what stands beside it (patch strategies do)."""
    reference = schema.get("$ref")
    if not reference:
        return schema
    return {**_definitions()["$defs"][str(reference).rpartition("/")[2]], **schema}


def crd_validator(structural: Schema) -> Any:
    """Return a validator for objects of a CRD; `metadata` is not its business."""
    schema = json_schema(structural)
    schema["properties"] = {**schema.get("properties", {}), "metadata": {}, "apiVersion": {}, "kind": {}}
    return Draft202012Validator(schema)


def json_schema(structural: Mapping[str, Any], *, strict: bool = True) -> Schema:
    """Return a structural schema as JSON Schema; `strict` refuses fields that it does not name."""
    made: Schema = {}
    for key, value in structural.items():
        if key == "properties":
            made[key] = {name: json_schema(field, strict=strict) for name, field in value.items()}
        elif key in ("items", "additionalProperties", "not") and isinstance(value, dict):
            made[key] = json_schema(value, strict=strict and key != "not")
        elif key in ("allOf", "anyOf", "oneOf"):
            made[key] = [json_schema(part, strict=False) for part in value]
        elif key not in _STRUCTURAL and not key.startswith("x-"):
            made[key] = value
    if structural.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
        made.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    open_ended = structural.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in made
    if strict and "properties" in made and not open_ended:
        made["additionalProperties"] = False
    return made


def with_defaults(value: Any, structural: Mapping[str, Any]) -> Any:
    """Return a value with the defaults that its structural schema states for absent fields."""
    if isinstance(value, dict):
        made = dict(value)
        for name, field in (structural.get("properties") or {}).items():
            if name in made:
                made[name] = with_defaults(made[name], field)
            elif "default" in field:
                made[name] = field["default"]
        others = structural.get("additionalProperties")
        if isinstance(others, dict):
            made.update({name: with_defaults(item, others) for name, item in value.items()})
        return made
    if isinstance(value, list):
        return [with_defaults(item, structural.get("items") or {}) for item in value]
    return value
