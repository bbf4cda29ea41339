"""The two XML protocols of AWS: form fields in, XML out."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape

from rehearsal.cloud.errors import RefusedError

# XML has no place for control characters, which a handler's output may hold.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def nested(fields: Mapping[str, str], member: str = "member") -> dict[str, Any]:
    """Return form fields as nested objects: ``Tags.member.1.Key`` is in a list of objects.

    EC2 leaves ``member`` out: there, pass an empty text.
    """
    root: dict[str, Any] = {}
    for key, value in fields.items():
        at = root
        *path, last = [part for part in key.split(".") if part != member]
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return {key: _lists(value) for key, value in root.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(item) for key, item in value.items()}


def xml(value: Any, item: str) -> str:
    """Return the XML inside an element: objects as elements, lists as ``item`` elements; None is left out."""
    if isinstance(value, Mapping):
        return "".join(f"<{key}>{xml(inner, item)}</{key}>" for key, inner in value.items() if inner is not None)
    if isinstance(value, (list, tuple)):
        return "".join(f"<{item}>{xml(inner, item)}</{item}>" for inner in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return escape(_NOT_XML.sub("?", str(value)))


def query_answer(action: str, result: Mapping[str, Any]) -> str:
    """Return the answer of a service with the query protocol."""
    inner = f"<{action}Result>{xml(result, 'member')}</{action}Result>"
    metadata = "<ResponseMetadata><RequestId>rehearsal</RequestId></ResponseMetadata>"
    return f"<{action}Response>{inner}{metadata}</{action}Response>"


def query_error(error: RefusedError) -> str:
    """Return an error of a service with the query protocol."""
    inner = f"<Type>Sender</Type><Code>{error.code}</Code><Message>{xml(str(error), '')}</Message>"
    return f"<ErrorResponse><Error>{inner}</Error><RequestId>rehearsal</RequestId></ErrorResponse>"


def s3_error(error: RefusedError) -> str:
    """Return an error of S3."""
    return f"<Error><Code>{error.code}</Code><Message>{xml(str(error), '')}</Message></Error>"


def ec2_answer(action: str, result: Mapping[str, Any]) -> str:
    """Return an answer of EC2."""
    return f"<{action}Response><requestId>rehearsal</requestId>{xml(result, 'item')}</{action}Response>"


def ec2_error(error: RefusedError) -> str:
    """Return an error of EC2."""
    inner = f"<Error><Code>{error.code}</Code><Message>{xml(str(error), '')}</Message></Error>"
    return f"<Response><Errors>{inner}</Errors><RequestID>rehearsal</RequestID></Response>"
