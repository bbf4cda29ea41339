"""AWS::Scheduler::Schedule."""

import json
import re
from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.schedules import SCHEDULED_TIME

_RATE = re.compile(r"rate\([1-9]\d* (minute|hour|day)s?\)")
_SERVICE = "scheduler.amazonaws.com"
# A retry policy is taken and does nothing: a schedule runs when it is told to, and once.
_TARGET = frozenset({"Arn", "Input", "RetryPolicy", "RoleArn"})


class Schedule(ResourceType):
    """A schedule of EventBridge Scheduler that calls a function; it runs when ``POST /rehearsal/schedules`` says so."""

    type = "AWS::Scheduler::Schedule"
    properties = frozenset(
        {
            "Description",
            "FlexibleTimeWindow",
            "Name",
            "ScheduleExpression",
            "ScheduleExpressionTimezone",
            "State",
            "Target",
        }
    )
    replaced_by = frozenset({"Name"})
    updated_by = properties - replaced_by

    def create(self, request: Request) -> Made:
        """Create it; refused where its function or role does not exist, or Scheduler could not assume the role."""
        name = request.name("Name", 64)
        made = self.account.client("scheduler").create_schedule(Name=name, **self._wanted(request))
        return Made(name, {"Arn": made["ScheduleArn"]})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change it."""
        self.account.client("scheduler").update_schedule(Name=made.physical_id, **self._wanted(request))
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("scheduler").delete_schedule(Name=physical_id)

    def _wanted(self, request: Request) -> dict[str, Any]:
        """Return what Scheduler is given, in full: an update takes the defaults for what it does not name."""
        wanted = {"State": "ENABLED", **request.properties}
        wanted.pop("Name", None)
        if wanted["State"] not in ("ENABLED", "DISABLED"):
            raise RefusedError(f"Value '{wanted['State']}' at 'state': expected ENABLED or DISABLED")
        if not _RATE.fullmatch(wanted["ScheduleExpression"]):
            raise RefusedError(
                f"Invalid Schedule Expression {wanted['ScheduleExpression']}. (the rehearsal emulates only rates, such "
                "as rate(5 minutes))"
            )
        if wanted["FlexibleTimeWindow"] != {"Mode": "OFF"}:
            raise RefusedError(
                f"AWS::Scheduler::Schedule: the rehearsal emulates FlexibleTimeWindow only with Mode OFF, not "
                f"{wanted['FlexibleTimeWindow']}"
            )
        self._check_target(wanted["Target"])
        return wanted

    def _check_target(self, target: dict[str, Any]) -> None:
        if unknown := sorted(target.keys() - _TARGET):
            raise RefusedError(f"AWS::Scheduler::Schedule: the rehearsal does not emulate {unknown} of Target")
        function = self.account.functions.get(target["Arn"])
        if not function.runtime.startswith("python"):
            raise RefusedError(f"{function.name} ({function.runtime}): the rehearsal schedules only Python functions")
        self._check_role(target["RoleArn"])
        _check_input(target.get("Input"))

    def _check_role(self, arn: str) -> None:
        role = self.account.client("iam").get_role(RoleName=arn.rsplit("/", 1)[-1])["Role"]
        principals = [
            statement.get("Principal", {}).get("Service", [])
            for statement in role["AssumeRolePolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow"
        ]
        if not any(_SERVICE in ([found] if isinstance(found, str) else found) for found in principals):
            raise RefusedError(
                f"The execution role you provide must allow AWS EventBridge Scheduler to assume the role. ({arn})"
            )


def _check_input(text: str | None) -> None:
    try:
        value = json.loads(text or "")
    except ValueError as error:
        raise RefusedError(f"AWS::Scheduler::Schedule: Input of Target is no JSON: {text!r}") from error
    if not isinstance(value, dict):
        raise RefusedError(f"AWS::Scheduler::Schedule: the rehearsal needs an object as Input of Target, not {text}")
    if unknown := re.findall(r"<aws\.[^>]*>", (text or "").replace(SCHEDULED_TIME, "")):
        raise RefusedError(f"AWS::Scheduler::Schedule: the rehearsal does not emulate {unknown} in Input of Target")
