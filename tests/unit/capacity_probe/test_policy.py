"""The policy of each mode allows the calls that the mode makes, and a few actions that EC2 asks for besides."""

from typing import Any

import pytest
from aws_cdk.assertions import Template

from .stacks import small_app
from .test_kill_points import MODES, SCENARIOS, prepared

_PREFIX = {
    "ec2": "ec2",
    "service-quotas": "servicequotas",
    "resource-groups": "resource-groups",
    "cloudformation": "cloudformation",
}

# Actions that no call is named after, and who says that they are needed.
IMPLIED = {
    # Amazon EC2 user guide, "Grant permission to tag Amazon EC2 resources during creation".
    "ec2:CreateTags": ("hold", "probe"),
    # AWS Lambda developer guide, "Sending Lambda function logs to CloudWatch Logs".
    "logs:CreateLogStream": MODES,
    "logs:PutLogEvents": MODES,
}


def calls_of(mode: str) -> set[str]:
    """What the function calls in all of a mode's scenarios, quotas that were never set among them."""
    made: set[str] = set()
    for scenario in (s for s in SCENARIOS if s.mode == mode):
        stack = prepared(scenario)
        stack.world.quotas.applied, stack.world.quotas.spot, stack.world.quotas.default = None, None, 960.0
        stack.world.forget_calls()
        event = stack.event(scenario.wanted)
        stack.finish(event, stack.send(event))
        made |= {f"{_PREFIX[service]}:{operation}" for service, operation, _ in stack.world.tape.calls}
    return made


def statements(template: Template, role: str = "CapacityProbeRole") -> list[dict[str, Any]]:
    (policy,) = (
        p["Properties"]
        for p in template.find_resources("AWS::IAM::Policy").values()
        if p["Properties"]["Roles"][0]["Ref"].startswith(role)
    )
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def actions(statement: dict[str, Any]) -> set[str]:
    given = statement["Action"]
    return {given} if isinstance(given, str) else set(given)


@pytest.mark.parametrize("mode", MODES)
def test_the_policy_is_the_calls_and_the_reviewed_table(mode: str) -> None:
    allowed = set[str]().union(*map(actions, statements(Template.from_stack(small_app(mode)[1]))))
    implied = {action for action, modes in IMPLIED.items() if mode in modes}
    assert allowed == calls_of(mode) | implied


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_made_changed_or_cancelled_that_is_not_the_stack_s(mode: str) -> None:
    template = Template.from_stack(small_app(mode)[1])
    asked = {"aws:RequestTag/eks-ray-train:stack": "dev-Gpu"}
    own = {"StringEquals": {"aws:ResourceTag/eks-ray-train:stack": "dev-Gpu"}}
    conditions: dict[str, Any] = {
        "ec2:CreateCapacityReservation": {"StringEquals": asked},
        "ec2:CreateTags": {"StringEquals": asked | {"ec2:CreateAction": "CreateCapacityReservation"}},
        "ec2:CancelCapacityReservation": own,
        "ec2:ModifyCapacityReservation": own,
    }
    for statement in statements(template):
        (only, *more) = sorted(actions(statement))
        if only == "resource-groups:GroupResources":
            (group,) = template.find_resources("AWS::ResourceGroups::Group")
            assert statement["Resource"] == {"Fn::GetAtt": [group, "Arn"]}
        elif only in conditions:
            assert (more, statement["Condition"]) == ([], conditions[only])
            assert "capacity-reservation/*" in str(statement["Resource"])
        elif only.startswith("logs:"):
            (log,) = (g for g in template.find_resources("AWS::Logs::LogGroup") if g.startswith("CapacityProbeLog"))
            assert statement["Resource"] == {"Fn::GetAtt": [log, "Arn"]}
        else:
            assert all(action.split(":")[1].startswith(("Describe", "Get")) for action in (only, *more))


@pytest.mark.failure_mode("A8")
@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_the_function_may_reserve_in_the_placement_group_when_there_is_one(mode: str) -> None:
    def resources(in_group: bool) -> list[Any]:
        template = Template.from_stack(small_app(mode, in_group=in_group)[1])
        return [s["Resource"] for s in statements(template) if s["Action"] == "ec2:CreateCapacityReservation"]

    assert len(resources(False)) == 1
    assert len(resources(True)) == 2
    assert "placement-group/" in str(resources(True))
