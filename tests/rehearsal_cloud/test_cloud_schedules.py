"""Schedules: made with what CDK's Schedule emits, run when they are told to, and refused by name."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_functions import function
from tests.rehearsal_cloud.cloud_stacks import Resources, Stacks, caller, control

CODE = (
    "def handler(event, context):\n"
    "    print('ran at', event['at'])\n"
    "    if event.get('fail'): raise ValueError('no bucket')\n"
    "    return {'seen': event['at']}\n"
)
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
AT = '{"at":"<aws.scheduler.scheduled-time>"}'


@pytest.fixture(scope="module")
def arns(stacks: Stacks, bucket: None) -> dict[str, str]:
    """A function, the role that may call it, and one that Scheduler may not assume."""
    caller_role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}}
    resources = {**function(stacks, CODE), "Caller": caller_role}
    node = function(stacks, CODE, runtime="nodejs24.x")["Function"]
    outputs = {name: {"Value": {"Fn::GetAtt": [name, "Arn"]}} for name in ("Function", "Node", "Caller", "Role")}
    made = stacks.create("called", {**resources, "Node": node}, outputs)
    return {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]}


def schedule(arns: dict[str, str], target: dict[str, Any] | None = None, **changes: Any) -> Resources:
    """Return what CDK's Schedule with a LambdaInvoke emits."""
    retries = {"MaximumEventAgeInSeconds": 300, "MaximumRetryAttempts": 0}
    aim = {"Arn": arns["Function"], "Input": AT, "RetryPolicy": retries, "RoleArn": arns["Caller"], **(target or {})}
    properties = {
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ScheduleExpression": "rate(5 minutes)",
        "ScheduleExpressionTimezone": "Etc/UTC",
        "State": "ENABLED",
        "Target": aim,
        **changes,
    }
    return {"Type": "AWS::Scheduler::Schedule", "Properties": properties}


def run(cloud: Cloud, **fields: Any) -> Any:
    return control(cloud, "POST", "schedules", **fields)


def test_enabled_schedules_run_once_at_the_time_of_the_clock(room: Cloud, stacks: Stacks, arns: dict[str, str]) -> None:
    resources = {
        "Fails": schedule(arns, {"Input": '{"at":"x","fail":true}'}, Name="fails"),
        "Off": schedule(arns, Name="off", State="DISABLED"),
        "On": schedule(arns, Name="on"),
    }
    stacks.create("schedules", resources)
    control(room, "POST", "clock", minutes=90)
    failed, ran = run(room)
    name = arns["Function"].rsplit(":", 1)[-1]
    assert failed == {"schedule": "fails", "function": name, "error": f"{name}: ValueError: no bucket"}
    assert (ran["schedule"], ran["function"]) == ("on", name)
    at = ran["answer"]["seen"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at)
    assert abs(datetime.fromisoformat(at) - datetime.now(UTC) - timedelta(minutes=90)) < timedelta(minutes=1)
    outputs = [event["output"] for event in room.account.events.read(action="FUNCTION", function=name)]
    assert outputs[-1] == f"ran at {at}\n"
    assert [item["schedule"] for item in run(room, name="on")] == ["on"]
    with pytest.raises(AssertionError, match=r"name 'none': no such schedule; there are \['fails', 'off', 'on'\]"):
        run(room, name="none")
    with pytest.raises(AssertionError, match="name 'off': the schedule is DISABLED"):
        run(room, name="off")
    with pytest.raises(AssertionError, match="unexpected keyword argument 'zone'"):
        run(room, zone="us-east-2a")
    stacks.delete("schedules")
    assert run(room) == []


def test_a_schedule_is_changed_and_goes(room: Cloud, stacks: Stacks, arns: dict[str, str]) -> None:
    outputs = {"Name": {"Value": {"Ref": "One"}}, "Arn": {"Value": {"Fn::GetAtt": ["One", "Arn"]}}}
    made = stacks.create("changing", {"One": schedule(arns)}, outputs)
    given = {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]}
    name = given["Name"]
    assert name.startswith("changing-One-")
    assert given["Arn"] == f"arn:aws:scheduler:us-east-2:123456789012:schedule/default/{name}"
    assert control(room, "GET", "inventory")["schedule"] == [name]
    later = schedule(arns, ScheduleExpression="rate(1 hour)", Description="parks")
    del later["Properties"]["State"]
    stacks.update("changing", {"One": later})
    found = caller(room, "scheduler").get_schedule(Name=name)
    assert (found["ScheduleExpression"], found["Description"], found["State"]) == ("rate(1 hour)", "parks", "ENABLED")
    assert (found["Target"]["Arn"], found["Target"]["Input"]) == (arns["Function"], AT)
    stacks.create_badly("another", {"One": schedule(arns, Name=name)})
    assert f"Schedule {name} already exists" in stacks.reason("another", "One")
    stacks.delete("changing")
    assert "schedule" not in control(room, "GET", "inventory")


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "property": ({}, {"GroupName": "g"}, r"does not emulate the properties ['GroupName']"),
    "part of the target": ({"DeadLetterConfig": {}}, {}, "does not emulate ['DeadLetterConfig'] of Target"),
    "function": ({"Arn": "arn:aws:lambda:us-east-2:123456789012:function:none"}, {}, "Function not found: arn:aws"),
    "node": ({"Arn": "Node"}, {}, "(nodejs24.x): the rehearsal schedules only Python functions"),
    "role": ({"RoleArn": "arn:aws:iam::123456789012:role/none"}, {}, "NoSuchEntity"),
    "trust": ({"RoleArn": "Role"}, {}, "must allow AWS EventBridge Scheduler to assume the role"),
    "zero": ({}, {"ScheduleExpression": "rate(0 minutes)"}, "Invalid Schedule Expression rate(0 minutes)."),
    "cron": ({}, {"ScheduleExpression": "cron(0 7 * * ? *)"}, "the rehearsal emulates only rates"),
    "window": ({}, {"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, "FlexibleTimeWindow only with Mode OFF"),
    "state": ({}, {"State": "ON"}, "Value 'ON' at 'state': expected ENABLED or DISABLED"),
    "no JSON": ({"Input": "now"}, {}, "Input of Target is no JSON: 'now'"),
    "no object": ({"Input": "[1]"}, {}, "needs an object as Input of Target, not [1]"),
    "words": ({"Input": '{"a": "<aws.scheduler.attempt-number>"}'}, {}, "['<aws.scheduler.attempt-number>'] in Input"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_schedule_is_refused_by_name(stacks: Stacks, arns: dict[str, str], case: str) -> None:
    target, changes, reason = REFUSED[case]
    name = f"refused-{case.replace(' ', '-')}"
    named = {key: arns.get(value, value) if isinstance(value, str) else value for key, value in target.items()}
    stacks.create_badly(name, {"One": schedule(arns, named, **changes)})
    assert reason in stacks.reason(name, "One")
