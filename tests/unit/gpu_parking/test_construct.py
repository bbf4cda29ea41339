"""What is in the template, and what its functions may do."""

from typing import Any

import pytest

from eks_ray_train.gpu_parking.asset.idle_nodes import handlers
from tests.synthesis import CODE, Template, only, resources, settings_with, synthesise, templates

WAKING = "Custom::GpuNodesAwake"


def _training() -> Template:
    return templates("dev")["Training"]


def _one(template: Template, kind: str, named: str) -> Any:
    (found,) = (value for name, value in resources(template, kind).items() if named in name)
    return found["Properties"]


def _allowed(named: str) -> dict[str, Any]:
    statements = _one(_training(), "AWS::IAM::Policy", f"{named}Role")["PolicyDocument"]["Statement"]
    return {statement["Sid"]: statement for statement in statements if "Sid" in statement}


def _nodes_arn() -> dict[str, Any]:
    (parameter,) = (name for name in _training()["Parameters"] if "gpunodes" in name)
    return {"Ref": parameter}


@pytest.mark.parametrize("named", ["GpuParking", "GpuWaking"])
def test_only_the_gpu_nodes_can_be_scaled(named: str) -> None:
    scaling = _allowed(named)["SizeOfTheGpuNodes"]
    assert scaling["Action"] == ["eks:DescribeNodegroup", "eks:UpdateNodegroupConfig"]
    assert scaling["Resource"] == _nodes_arn()


def test_parking_sees_when_runs_wrote_and_not_what() -> None:
    allowed = _allowed("GpuParking")
    assert allowed.keys() == {"SizeOfTheGpuNodes", "SeeWrites"}
    assert allowed["SeeWrites"]["Action"] == "s3:ListBucket"
    assert allowed["SeeWrites"]["Condition"] == {"StringLike": {"s3:prefix": "runs/*"}}


def test_waking_writes_one_object() -> None:
    allowed = _allowed("GpuWaking")
    assert allowed.keys() == {"SizeOfTheGpuNodes", "SeeLaunches", "Sign", "ReadOwnState"}
    assert allowed["Sign"]["Action"] == "s3:PutObject"
    assert allowed["Sign"]["Resource"]["Fn::Join"][1][1] == "/runs/.deployed"


def test_the_schedule_tells_the_function_its_time_every_five_minutes() -> None:
    schedule = _one(_training(), "AWS::Scheduler::Schedule", "GpuParking")
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("rate(5 minutes)", "ENABLED")
    assert schedule["Target"]["Input"] == '{"at":"<aws.scheduler.scheduled-time>"}'
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 0


@pytest.mark.parametrize(("named", "handler"), [("GpuParking", handlers.park), ("GpuWaking", handlers.wake)])
def test_the_handler_is_one_of_the_asset(named: str, handler: Any) -> None:
    function = _one(_training(), "AWS::Lambda::Function", f"{named}Function")
    assert function["Handler"] == f"idle_nodes.handlers.{handler.__name__}"


def test_parking_knows_where_to_look_and_how_long() -> None:
    given = _one(_training(), "AWS::Lambda::Function", "GpuParkingFunction")["Environment"]["Variables"]
    assert given["IDLE_MINUTES"] == "60"
    assert (given["PREFIX"], given["SIGN_KEY"]) == ("runs/", "runs/.deployed")
    assert given["NODEGROUP_NAME"] == {"Fn::Select": [2, {"Fn::Split": ["/", _nodes_arn()]}]}


def test_waking_comes_before_what_needs_nodes_and_again_for_each_job() -> None:
    template = _training()
    (waking,) = resources(template, WAKING)
    fabric_check = next(value for name, value in template["Resources"].items() if name.startswith("FabricCheckJob"))
    assert waking in fabric_check["DependsOn"]
    (run,) = (output["Value"] for name, output in template["Outputs"].items() if "RunName" in name)
    assert only(template, WAKING)["RunName"] == run


def test_without_idle_minutes_nothing_parks_and_waking_stays() -> None:
    """Else nodes that are parked when the setting is removed would stay so."""
    template = synthesise(settings_with({"cost": {}}), CODE)["Training"]
    assert resources(template, "AWS::Scheduler::Schedule") == {}
    assert only(template, WAKING)["IdleMinutes"] == "never"
