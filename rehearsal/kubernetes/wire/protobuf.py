"""Bodies that typed clients send as protobuf: helm's release Secrets, its namespace, and delete options."""

import base64
from collections.abc import Iterator
from typing import Any

from rehearsal.kubernetes.api.errors import ApiError
from rehearsal.kubernetes.api.objects import Object

_MAGIC = b"k8s\0"
# Field numbers of k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto.
_METADATA = {1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"}
_METADATA_MAPS = {11: "labels", 12: "annotations"}
_PROPAGATION_POLICY = 4


def decode(body: bytes) -> Object:
    """Return the object in a protobuf body; 415 for a kind that nobody here sends that way."""
    if body[:4] != _MAGIC:
        raise _unsupported("a body without the k8s prefix")
    envelope = dict(_fields(body[4:]))
    type_meta = {number: value.decode() for number, value in _fields(envelope[1])}
    obj: Object = {"apiVersion": type_meta.get(1, "v1"), "kind": type_meta.get(2, "")}
    raw = envelope.get(2, b"")
    match obj["kind"]:
        case "DeleteOptions":
            policy = dict(_fields(raw)).get(_PROPAGATION_POLICY)
            return {**obj, **({"propagationPolicy": policy.decode()} if policy else {})}
        case "Secret" | "ConfigMap" | "Namespace":
            return _object(obj, raw)
    raise _unsupported(obj["kind"])


def _object(obj: Object, raw: bytes) -> Object:
    obj["metadata"] = {}
    data: dict[str, str] = {}
    for number, value in _fields(raw):
        if number == 1:
            obj["metadata"] = _metadata(value)
        elif obj["kind"] == "Namespace":
            continue
        elif number == 2:
            key, content = _entry(value)
            data[key] = base64.b64encode(content).decode() if obj["kind"] == "Secret" else content.decode()
        elif number == 3 and obj["kind"] == "Secret":
            obj["type"] = value.decode()
    return {**obj, **({"data": data} if data else {})}


def _metadata(raw: bytes) -> Object:
    made: Object = {}
    for number, value in _fields(raw):
        if number in _METADATA and value:
            made[_METADATA[number]] = value.decode()
        elif number in _METADATA_MAPS:
            key, content = _entry(value)
            made.setdefault(_METADATA_MAPS[number], {})[key] = content.decode()
    return made


def _entry(raw: bytes) -> tuple[str, bytes]:
    fields = dict(_fields(raw))
    return fields.get(1, b"").decode(), fields.get(2, b"")


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (field number, value): an int, or bytes."""
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = raw[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(raw):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            length = varint()
            yield tag >> 3, raw[place : place + length]
            place += length
        else:
            raise _unsupported(f"wire type {tag & 7}")


def _unsupported(what: str) -> ApiError:
    message = f"the body of the request was in an unknown format: protobuf is read for helm's objects, not for {what}"
    return ApiError(415, "UnsupportedMediaType", message)
