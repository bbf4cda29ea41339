"""Stands before moto: answers what moto lacks or gets wrong, and passes everything else on."""

import io
import json
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.capacity import CapacityCalls
from rehearsal.cloud.calls.cloudformation import CloudFormationCalls
from rehearsal.cloud.calls.eks import eks
from rehearsal.cloud.calls.query import ec2_answer, ec2_error, nested, query_answer, query_error
from rehearsal.cloud.calls.quotas import quota
from rehearsal.cloud.control import control
from rehearsal.cloud.errors import RefusedError

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
_SCOPE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/aws4_request")
_NOT_FOUND = ("ResourceNotFoundException", "NoSuchResourceException")


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    status: str
    kind: str
    body: str


class Front:
    """A WSGI application around moto's."""

    def __init__(self, moto: Wsgi, account: Account, cloudformation: CloudFormationCalls) -> None:
        self._moto = moto
        self._account = account
        self._cloudformation = cloudformation
        self._capacity = CapacityCalls(account)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer one request."""
        path = environ.get("PATH_INFO", "")
        found = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        service = found.group(1) if found else ""
        own = path.startswith("/rehearsal/") or service in ("cloudformation", "ec2", "eks", "servicequotas")
        if not own:
            return self._moto(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        answer = self._answer(service, environ["REQUEST_METHOD"], path, body.decode(), environ)
        if answer is None:
            return self._moto(environ, start_response)
        data = answer.body.encode()
        headers = [("Content-Type", answer.kind), ("Content-Length", str(len(data)))]
        start_response(answer.status, headers)
        return [data]

    def _answer(self, service: str, method: str, path: str, body: str, environ: Mapping[str, Any]) -> Answer | None:
        if path.startswith("/rehearsal/"):
            return _json(lambda: control(method, path, body, self._account))
        if service == "eks":
            return _json(lambda: eks(method, path, self._account))
        if service == "servicequotas":
            action = environ.get("HTTP_X_AMZ_TARGET", "").rsplit(".", 1)[-1]
            return _json(lambda: quota(action, json.loads(body), self._account))
        fields = dict(parse_qsl(body, keep_blank_values=True))
        action = fields.get("Action", "")
        if service == "ec2":
            if action not in self._capacity.actions:
                return None
            given = nested(fields, member="")
            return _xml(lambda: ec2_answer(action, self._capacity.actions[action](given)), ec2_error)
        return _xml(lambda: query_answer(action, self._cloudformation.answer(action, nested(fields))), query_error)


def _xml(work: Callable[[], str], error_text: Callable[[RefusedError], str]) -> Answer:
    try:
        return Answer("200 OK", "text/xml", work())
    except RefusedError as error:
        return Answer("400 Bad Request", "text/xml", error_text(error))
    except Exception as error:
        traceback.print_exc()
        return Answer("500 Internal Server Error", "text/xml", error_text(RefusedError(repr(error), "InternalFailure")))


def _json(work: Callable[[], Any]) -> Answer:
    try:
        return Answer("200 OK", "application/json", json.dumps(work(), default=str))
    except RefusedError as error:
        status = "404 Not Found" if error.code in _NOT_FOUND else "400 Bad Request"
        return Answer(status, "application/json", json.dumps({"__type": error.code, "message": str(error)}))
    except Exception as error:
        traceback.print_exc()
        body = json.dumps({"__type": "InternalFailure", "message": repr(error)})
        return Answer("500 Internal Server Error", "application/json", body)
