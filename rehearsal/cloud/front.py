"""Stands before moto: answers what moto lacks or gets wrong, and passes everything else on."""

import json
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.call import Call, read_call
from rehearsal.cloud.calls.autoscaling import AutoScalingCalls
from rehearsal.cloud.calls.cloudformation import CloudFormationCalls
from rehearsal.cloud.calls.eks import eks
from rehearsal.cloud.calls.instances import InstanceCalls
from rehearsal.cloud.calls.query import ec2_answer, ec2_error, nested, query_answer, query_error, s3_error
from rehearsal.cloud.calls.quotas import quota
from rehearsal.cloud.calls.regions import RegionCalls
from rehearsal.cloud.calls.reservations import ReservationCalls
from rehearsal.cloud.calls.resource_groups import ResourceGroupCalls
from rehearsal.cloud.control import control
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.regions import ENABLED

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
_STATUSES = {
    "AccessDenied": "403 Forbidden",
    "AccessDeniedException": "403 Forbidden",
    "AuthFailure": "401 Unauthorized",
    "InternalFailure": "500 Internal Server Error",
    "NoSuchResourceException": "404 Not Found",
    "NotFoundException": "404 Not Found",
    "RequestLimitExceeded": "503 Service Unavailable",
    "ResourceInUseException": "409 Conflict",
    "ResourceNotFoundException": "404 Not Found",
    "UnauthorizedOperation": "403 Forbidden",
    "Unavailable": "503 Service Unavailable",
}
_REGIONAL = ("ec2", "servicequotas", "resource-groups", "autoscaling", "eks")


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
        self._ec2 = {
            **ReservationCalls(account).actions,
            **RegionCalls(account).actions,
            **InstanceCalls(account).actions,
        }
        self._groups = ResourceGroupCalls(account)
        self._scaling = AutoScalingCalls(account)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer one request."""
        call = read_call(environ)
        answer = self._arrive(call) or self._answer(call)
        if answer is None:
            return self._moto(environ, start_response)
        data = answer.body.encode()
        headers = [("Content-Type", answer.kind), ("Content-Length", str(len(data)))]
        start_response(answer.status, headers)
        return [data]

    def _arrive(self, call: Call) -> Answer | None:
        """Count a call from outside and let it wait; return an answer where it ends here."""
        if call.own or not call.service:
            return None
        try:
            self._account.traffic.arrive(call.service, call.action, call.region)
            if call.service in _REGIONAL and call.region not in ENABLED:
                code = "AuthFailure" if call.service == "ec2" else "UnrecognizedClientException"
                raise RefusedError(
                    f"AWS was not able to validate the provided access credentials ({call.region} is not enabled)", code
                )
        except RefusedError as error:
            return _refusal(call, error)
        return None

    def _answer(self, call: Call) -> Answer | None:
        account = self._account
        if call.path.startswith("/rehearsal/"):
            return _json(call, lambda: control(call.method, call.path, call.body.decode(), account))
        match call.service:
            case "eks":
                return _json(call, lambda: eks(call.method, call.path, call.body, account))
            case "servicequotas":
                return _json(call, lambda: quota(call.action, json.loads(call.body), call.region, account))
            case "resource-groups":
                fields = json.loads(call.body or b"{}")
                return _json(call, lambda: self._groups.answer(call.action, fields, call.region))
            case "cloudtrail" if call.action == "LookupEvents":
                # The CDK command line asks after each failure, and moto's answer, no JSON, has it ask for 22 seconds.
                return _json(call, lambda: {"Events": []})
            case "autoscaling" if call.action in self._scaling.actions:
                scaling = self._scaling.actions[call.action]
                return _xml(call, lambda: query_answer(call.action, scaling(nested(call.fields))))
            case "ec2" if call.action in self._ec2:
                return _xml(call, lambda: self._answer_ec2(call))
            case "cloudformation":
                return _xml(
                    call,
                    lambda: query_answer(call.action, self._cloudformation.answer(call.action, nested(call.fields))),
                )
        return None

    def _answer_ec2(self, call: Call) -> str:
        fields = nested(call.fields, member="")
        result = self._ec2[call.action](fields, call.region)
        if not call.own:
            self._account.traffic.left(call.action, fields, self._account.capacity)
        return ec2_answer(call.action, result)


def _xml(call: Call, work: Callable[[], str]) -> Answer:
    try:
        return Answer("200 OK", "text/xml", work())
    except RefusedError as error:
        return _refusal(call, error)
    except Exception as error:
        traceback.print_exc()
        return _refusal(call, RefusedError(repr(error), "InternalFailure"))


def _json(call: Call, work: Callable[[], Any]) -> Answer | None:
    try:
        result = work()
        return None if result is None else Answer("200 OK", "application/json", json.dumps(result, default=str))
    except RefusedError as error:
        return _refusal(call, error)
    except Exception as error:
        traceback.print_exc()
        return _refusal(call, RefusedError(repr(error), "InternalFailure"))


def _refusal(call: Call, error: RefusedError) -> Answer:
    """Return an error in the words of the call's protocol."""
    status = _STATUSES.get(error.code, "400 Bad Request")
    if call.service == "ec2":
        return Answer(status, "text/xml", ec2_error(error))
    if call.service == "s3":
        return Answer(status, "text/xml", s3_error(error))
    if call.form:
        return Answer(status, "text/xml", query_error(error))
    body = {"__type": error.code, "message": str(error)}
    return Answer(status, "application/json", json.dumps(body))
