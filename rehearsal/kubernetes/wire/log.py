"""What was asked of the server and how it answered, in order."""

import threading
import time
from collections.abc import Callable
from typing import Any

from rehearsal.kubernetes.api.errors import ApiError
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.verbs import Api
from rehearsal.kubernetes.api.writes import APPLY_PATCH
from rehearsal.kubernetes.wire.request import Request, Target

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class RequestLog:
    """One entry per request for objects: time (s since the epoch), verb, kind, namespace/name, code, message."""

    def __init__(self) -> None:
        self._entries: list[Object] = []
        self._lock = threading.Lock()

    def entries(self) -> list[Object]:
        """Return all entries, oldest first."""
        with self._lock:
            return list(self._entries)

    def record(self, request: Request, api: Api, answer: Callable[[Target], tuple[int, Any]]) -> tuple[int, Any]:
        """Answer a request and note it, refused or not."""
        entry: Object = {"time": time.time(), "verb": verb(request), "kind": "", "object": "/".join(request.parts)}
        code, message = 500, ""
        try:
            target = request.target(api.resources)
            if not target.name:
                entry["verb"] = {"get": "list", "delete": "deletecollection"}.get(entry["verb"], entry["verb"])
            entry["kind"] = target.resource.kind + (f"/{target.subresource}" if target.subresource else "")
            entry["object"] = f"{target.namespace}/{target.name}"
            code, body = answer(target)
            if entry["verb"] == "create":
                entry["object"] = f"{target.namespace}/{body['metadata']['name']}"
            return code, body
        except ApiError as error:
            code, message = error.code, error.message
            raise
        finally:
            with self._lock:
                self._entries.append({**entry, "code": code, "message": message})


def verb(request: Request) -> str:
    """Return the verb as Kubernetes' audit log names it, server-side apply apart."""
    if request.method == "GET":
        return "watch" if request.watches else "get"
    return "apply" if request.content_type == APPLY_PATCH else _VERBS[request.method]
