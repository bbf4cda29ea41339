"""What a request asks for: the service, its action and the region, from AWS's four protocols."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from botocore.exceptions import UnknownServiceError
from botocore.session import get_session

from rehearsal.cloud.account import OWN_KEY

_SCOPE = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/aws4_request")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call; ``own`` is one of the emulation to itself. ``fields`` are those of a form, empty for other bodies."""

    service: str
    action: str
    region: str
    own: bool
    method: str
    path: str
    body: bytes
    fields: Mapping[str, str]

    @property
    def form(self) -> bool:
        """Whether it is a form, whose errors are XML."""
        return "Action" in self.fields


def read_call(environ: dict[str, Any]) -> Call:
    """Return a request's call, and leave the request as it was for whoever reads it next.

    Bodies of S3 are not read: they may be large.
    """
    found = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    key, region, service = found.groups() if found else ("", "", "")
    method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
    body = b""
    if service != "s3":
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
    fields: dict[str, str] = {}
    if "x-www-form-urlencoded" in environ.get("CONTENT_TYPE", ""):
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
    target = environ.get("HTTP_X_AMZ_TARGET", "").rsplit(".", 1)[-1]
    action = fields.get("Action") or target or _action_of(service, method, path)
    return Call(
        service=service,
        action=action,
        region=region,
        own=key == OWN_KEY,
        method=method,
        path=path,
        body=body,
        fields=fields,
    )


def _action_of(service: str, method: str, path: str) -> str:
    """Return the action that a method and a path stand for, or the method where botocore does not say."""
    for known, pattern, name in _paths(service):
        if known == method and pattern.fullmatch(path):
            return name
    return method


@cache
def _paths(service: str) -> list[tuple[str, re.Pattern[str], str]]:
    try:
        model = get_session().get_service_model(service)
    except UnknownServiceError:
        return []
    if not str(model.metadata["protocol"]).startswith("rest-json"):
        return []
    found = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        parts = re.split(r"\{[^}]+\}", http["requestUri"].split("?")[0])
        pattern = re.compile("(?:[^/]+)".join(re.escape(part) for part in parts) + "/?")
        found.append((http["method"], pattern, name))
    # Fixed paths first: they are what a variable one may look like.
    return sorted(found, key=lambda item: -len(item[1].pattern.replace("(?:[^/]+)", "")))
