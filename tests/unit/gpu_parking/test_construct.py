"""What is in the template, and what its functions may do."""

from typing import Any

import pytest

from eks_ray_train.gpu_parking.asset.idle_nodes import handlers
from tests.synthesis import CODE, Template, only, resources, settings_with, synthesise, templates

WAKING = "Custom::GpuNodesAwake"


def _gpu() -> Template:
    return templates("dev")["Gpu"]


def _training() -> Template:
    return templates("dev")["Training"]


def _one(template: Template, kind: str, named: str) -> Any:
    (found,) = (value for name, value in resources(template, kind).items() if named in name)
    return found["Properties"]


def _allowed(template: Template, named: str) -> dict[str, Any]:
    statements = _one(template, "AWS::IAM::Policy", f"{named}Role")["PolicyDocument"]["Statement"]
    return {statement["Sid"]: statement for statement in statements if "Sid" in statement}


def _published_arn() -> dict[str, Any]:
    (parameter,) = (name for name in _training()["Parameters"] if "gpunodes" in name)
    return {"Ref": parameter}


def test_only_the_gpu_nodes_can_be_scaled() -> None:
    (group,) = resources(_gpu(), "AWS::EKS::Nodegroup")
    for allowed, arn in (
        (_allowed(_gpu(), "GpuParking"), {"Fn::GetAtt": [group, "Arn"]}),
        (_allowed(_training(), "GpuWaking"), _published_arn()),
    ):
        assert allowed["SizeOfTheGpuNodes"]["Action"] == ["eks:DescribeNodegroup", "eks:UpdateNodegroupConfig"]
        assert allowed["SizeOfTheGpuNodes"]["Resource"] == arn


def test_parking_sees_when_runs_wrote_and_not_what() -> None:
    allowed = _allowed(_gpu(), "GpuParking")
    assert allowed.keys() == {"SizeOfTheGpuNodes", "SeeWrites", "SeeLaunches"}
    assert allowed["SeeWrites"]["Action"] == "s3:ListBucket"
    assert allowed["SeeWrites"]["Condition"] == {"StringLike": {"s3:prefix": "runs/*"}}
    assert allowed["SeeLaunches"]["Action"] == "autoscaling:DescribeScalingActivities"


def test_waking_writes_one_object() -> None:
    allowed = _allowed(_training(), "GpuWaking")
    assert allowed.keys() == {"SizeOfTheGpuNodes", "SeeLaunches", "Sign", "ReadOwnState"}
    assert allowed["Sign"]["Action"] == "s3:PutObject"
    assert allowed["Sign"]["Resource"]["Fn::Join"][1][1] == "/runs/.deployed"


@pytest.mark.failure_mode("H1")
def test_nodes_are_watched_from_the_stack_that_makes_them() -> None:
    """Else they would bill where a later stack fails, and a replaced group where Training is rolled back."""
    assert resources(_training(), "AWS::Scheduler::Schedule") == {}
    assert len(resources(_gpu(), "AWS::Scheduler::Schedule")) == 1


def test_the_schedule_tells_the_function_its_time_every_five_minutes() -> None:
    schedule = _one(_gpu(), "AWS::Scheduler::Schedule", "GpuParking")
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("rate(5 minutes)", "ENABLED")
    assert schedule["Target"]["Input"] == '{"at":"<aws.scheduler.scheduled-time>"}'
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 0


@pytest.mark.parametrize(
    ("stack", "named", "handler"),
    [("Gpu", "GpuParking", handlers.park), ("Training", "GpuWaking", handlers.wake)],
)
def test_the_handler_is_one_of_the_asset(stack: str, named: str, handler: Any) -> None:
    function = _one(templates("dev")[stack], "AWS::Lambda::Function", f"{named}Function")
    assert function["Handler"] == f"idle_nodes.handlers.{handler.__name__}"


def test_parking_knows_where_to_look_and_how_long() -> None:
    given = _one(_gpu(), "AWS::Lambda::Function", "GpuParkingFunction")["Environment"]["Variables"]
    assert given["IDLE_MINUTES"] == "60"
    assert (given["PREFIX"], given["SIGN_KEY"]) == ("runs/", "runs/.deployed")
    (group,) = resources(_gpu(), "AWS::EKS::Nodegroup")
    assert given["NODEGROUP_NAME"] == {"Fn::Select": [2, {"Fn::Split": ["/", {"Fn::GetAtt": [group, "Arn"]}]}]}


def test_waking_comes_before_what_needs_nodes_and_again_when_that_changes() -> None:
    template = _training()
    (waking,) = resources(template, WAKING)
    fabric_check = next(value for name, value in template["Resources"].items() if name.startswith("FabricCheckJob"))
    assert waking in fabric_check["DependsOn"]
    (run,) = (output["Value"] for name, output in template["Outputs"].items() if "RunName" in name)
    properties = only(template, WAKING)
    assert properties["RunName"] == run
    (job,) = (name for name in template["Resources"] if name.startswith("FabricCheckJob"))
    assert job.startswith(f"FabricCheckJob{properties['FabricCheck']}")


def test_without_idle_minutes_nothing_parks_and_waking_stays() -> None:
    """Else nodes that are parked when the setting is removed would stay so."""
    stacks = synthesise(settings_with({"cost": {}}), CODE)
    assert resources(stacks["Gpu"], "AWS::Scheduler::Schedule") == {}
    assert only(_training(), WAKING)["Idle"] == "go"
    assert only(stacks["Training"], WAKING)["Idle"] == "stay"


@pytest.mark.failure_mode("H1")
def test_somebody_is_told_when_parking_fails() -> None:
    emails = ["a@b.example", "c@d.example"]
    template = synthesise(settings_with({"cost.notify": emails}), CODE)["Gpu"]
    told = [each["Properties"] for each in resources(template, "AWS::SNS::Subscription").values()]
    assert [(each["Protocol"], each["Endpoint"]) for each in told] == [("email", email) for email in emails]
    (topic,) = resources(template, "AWS::SNS::Topic")
    alarm = only(template, "AWS::CloudWatch::Alarm")
    assert alarm["AlarmActions"] == [{"Ref": topic}]
    # The Deny of plain HTTP takes the place of the policy by which the account's services may publish.
    allowed = [
        statement
        for statement in only(template, "AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert [(each["Principal"], each["Action"], each["Resource"]) for each in allowed] == [
        ({"Service": "cloudwatch.amazonaws.com"}, "sns:Publish", {"Ref": topic})
    ]
    assert allowed[0]["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    (function,) = (name for name in resources(template, "AWS::Lambda::Function") if "GpuParkingFunction" in name)
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": function}}]
    assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"], alarm["Threshold"]) == ("Errors", "Sum", 1800, 9)
    assert (alarm["ComparisonOperator"], alarm["TreatMissingData"]) == (
        "GreaterThanOrEqualToThreshold",
        "notBreaching",
    )


def test_nobody_is_told_where_nobody_is_named() -> None:
    assert resources(_gpu(), "AWS::CloudWatch::Alarm") == {}
    assert resources(_gpu(), "AWS::SNS::Topic") == {}
