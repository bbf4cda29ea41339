"""From an error of boto3 to an answer for a person."""

import re

from botocore.exceptions import BotoCoreError, ClientError

from . import messages
from .errors import ProbeError

_THROTTLED = {
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
}
_UNAUTHORISED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
_ACTION = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")
_SERVICES = {
    "GetServiceQuota": ("Service Quotas", "servicequotas"),
    "GetAWSDefaultServiceQuota": ("Service Quotas", "servicequotas"),
    "GroupResources": ("Resource Groups", "resource-groups"),
}


def code_of(error: ClientError) -> str:
    """Return the service's code of an error."""
    return str(error.response["Error"]["Code"])


def explain(error: ClientError | BotoCoreError, region: str, where: str | None = None) -> ProbeError:
    """Return what to tell a person; ``where`` names the zone where that is narrower than the region."""
    if isinstance(error, BotoCoreError):
        return messages.unreachable(str(error), region)
    code, said, operation = code_of(error), str(error.response["Error"].get("Message", "")), str(error.operation_name)
    service, prefix = _SERVICES.get(operation, ("EC2", "ec2"))
    if code in _UNAUTHORISED:
        # The message names the action where it is another one: tags at creation need ec2:CreateTags.
        named = _ACTION.search(said)
        return messages.not_authorised(named.group(1) if named else f"{prefix}:{operation}", region, said)
    if code in _THROTTLED:
        return messages.throttled(service, operation, where or region, said)
    return messages.refused(service, operation, code, said, where or region)
