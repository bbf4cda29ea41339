"""What a stack's status says of it, for every status that CloudFormation has, and a deploy that ends in a bad one."""

import re
from typing import Any

import botocore.session
import pytest

from ops.deploy.stacks import Stack
from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused
from tests.ops.fake_stacks import IDS, FakeCdk, Outcome

A = "us-east-2a"
DEPLOYED = dict.fromkeys(IDS, "CREATE_COMPLETE")
WORKS = {
    "CREATE_COMPLETE",
    "UPDATE_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_COMPLETE",
    "UPDATE_FAILED",
    "UPDATE_ROLLBACK_IN_PROGRESS",
    "UPDATE_ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_IN_PROGRESS",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_IN_PROGRESS",
    "IMPORT_ROLLBACK_FAILED",
    "IMPORT_ROLLBACK_COMPLETE",
}
EMPTY = {None, "REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "DELETE_COMPLETE"}
# Not created in full, and what there is of it bills.
HALF = {
    "CREATE_IN_PROGRESS",
    "CREATE_FAILED",
    "ROLLBACK_IN_PROGRESS",
    "ROLLBACK_FAILED",
    "DELETE_IN_PROGRESS",
    "DELETE_FAILED",
}
NEEDS_A_COMMAND = {"CREATE_FAILED", "UPDATE_FAILED", "UPDATE_ROLLBACK_FAILED", "DELETE_FAILED"}


def _statuses() -> set[str | None]:
    model = botocore.session.get_session().get_service_model("cloudformation")
    return {None, *model.shape_for("StackStatus").enum}


def test_every_status_of_cloudformation_is_of_one_kind() -> None:
    assert _statuses() == WORKS | EMPTY | HALF

    stacks = {status: Stack(id="Gpu", name="ray-train-dev-Gpu", status=status) for status in _statuses()}
    assert {status for status, stack in stacks.items() if stack.works} == WORKS
    assert {status for status, stack in stacks.items() if stack.may_cost} == WORKS | HALF
    assert {status for status, stack in stacks.items() if stack.way_out("dev")} == NEEDS_A_COMMAND
    assert {status for status, stack in stacks.items() if stack.failed_before} == {
        "ROLLBACK_COMPLETE",
        "ROLLBACK_FAILED",
    }
    assert {status for status, stack in stacks.items() if stack.moving} == {
        status for status in _statuses() if status and status.endswith("_IN_PROGRESS") and status not in EMPTY
    }


@pytest.mark.parametrize("option", ["--no-rollback", "-R", "--rollback=false"])
def test_a_paused_stack_is_gone_on_with_when_cdk_is_told_to(raytrain: Raytrain, cdk: FakeCdk, option: str) -> None:
    cdk.there = {"Network": "CREATE_COMPLETE", "Cluster": "CREATE_COMPLETE", "Gpu": "CREATE_FAILED"}

    told = raytrain("deploy", "dev", "--yes", "--", option)

    assert told.exit_code == 0, told.output
    assert "ray-train-dev-Gpu is CREATE_FAILED, and what is left of it uses quota: capacity is not asked." in (
        told.stdout
    )
    assert re.search(r"Gpu +create \(what the failed one made stays, the rest follows\)", told.stdout)


@pytest.mark.parametrize(
    ("before", "status", "command", "bills"),
    [
        (DEPLOYED, "UPDATE_ROLLBACK_FAILED", "npx cdk rollback Gpu -c environment=dev", "exact"),
        (DEPLOYED, "UPDATE_FAILED", "npx cdk rollback Gpu -c environment=dev, or go on", "exact"),
        ({}, "CREATE_FAILED", "npx cdk rollback Gpu -c environment=dev, or go on", "at most"),
        ({}, "DELETE_FAILED", "npx cdk destroy Gpu -c environment=dev", "at most"),
    ],
)
def test_reason_and_bill_come_before_the_command_that_a_stuck_stack_needs(
    raytrain: Raytrain, cdk: FakeCdk, before: dict[str, str], status: str, command: str, bills: str
) -> None:
    cdk.there, cdk.ends = before, {"Gpu": status}
    cdk.plan(Outcome("nodes", A))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 3, told.output
    assert len(cdk.runs("deploy")) == 1
    assert "The Gpu stack failed: EC2 had no room for the nodes in the zone that was chosen." in told.stdout
    end = told.stdout[told.stdout.index("What exists:") :]
    assert f"ray-train-dev-Gpu: {status}" in end
    assert "2 x g6.12xlarge" in end
    assert ("at most, for ray-train-dev-Gpu failed half-way" in end) == (bills == "at most")
    assert f"ray-train-dev-Gpu = {status}\n    expected: a stack that can be changed\n    to do:    {command}" in (
        told.stderr
    )


@pytest.mark.failure_mode("C2")
def test_nodes_that_a_failed_rollback_left_are_on_the_bill(raytrain: Raytrain, cdk: FakeCdk) -> None:
    cdk.ends = {"Gpu": "ROLLBACK_FAILED"}
    cdk.plan(Outcome("other", A, "LaunchTemplate is malformed"))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 1
    end = told.stdout[told.stdout.index("What exists:") :]
    assert "2 x g6.12xlarge" in end
    assert "at most, for ray-train-dev-Gpu failed half-way: not all of it may be there" in end


def test_a_reason_that_cannot_be_read_hides_no_bill(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    cdk.plan(Outcome("other", A, "LaunchTemplate is malformed"))
    told_events = aws.answers["DescribeStackEvents"]

    def denied_once_deployed(where: str, given: dict[str, Any]) -> dict[str, Any]:
        if cdk.runs("deploy"):
            raise Refused("AccessDenied", "User: ada is not authorized to perform: cloudformation:DescribeStackEvents")
        return told_events(where, given)

    aws.answers["DescribeStackEvents"] = denied_once_deployed

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 1
    assert (
        "Whether the Gpu stack failed for capacity could not be read: cloudformation:DescribeStackEvents in us-east-2 "
        "= denied"
    ) in told.stdout
    assert "0.3466  in all" in told.stdout[told.stdout.index("What exists:") :]


@pytest.mark.failure_mode("C2")
def test_the_next_zone_is_tried_although_the_group_may_not_be_read(
    raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws
) -> None:
    cdk.plan(Outcome("nodes", A), Outcome("ok"))
    aws.refusals["DescribeScalingActivities"] = Refused(
        "AccessDenied", "User: ada is not authorized to perform: autoscaling:DescribeScalingActivities on resource: *"
    )

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 0, told.output
    assert (
        "The Auto Scaling group's last error: not known: autoscaling:DescribeScalingActivities in us-east-2 = denied"
    ) in told.stdout
    assert f"{A} is now in capacity.exclude_zones" in told.stdout
    assert len(cdk.runs("deploy")) == 2


def test_reservations_that_cannot_be_read_are_said_to_be_unknown(
    raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws
) -> None:
    cdk.plan(Outcome("other", A, "LaunchTemplate is malformed"))
    aws.refusals["DescribeCapacityReservations"] = Refused("UnauthorizedOperation")

    told = raytrain("deploy", "dev", "--yes")

    end = told.stdout[told.stdout.index("What exists:") :]
    assert (
        "capacity reservations could not be read (ec2:DescribeCapacityReservations in us-east-2 = denied), and may "
        "cost as much as the nodes. Look: aws ec2 describe-capacity-reservations --region us-east-2 --filters "
        "Name=tag:eks-ray-train:stack,Values=ray-train-dev-Gpu Name=state,Values=active,pending"
    ) in end
