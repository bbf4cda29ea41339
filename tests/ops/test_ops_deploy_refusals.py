"""What `raytrain deploy` says before anything is made."""

import re
from pathlib import Path

import pytest

import ops.deploy.cdk
from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused
from tests.ops.fake_stacks import FakeCdk


def refused(raytrain: Raytrain, cdk: FakeCdk, code: int, said: str) -> str:
    told = raytrain("deploy", "dev", "--yes")
    assert told.exit_code == code, told.output
    assert re.search(said, told.stderr), told.stderr
    assert cdk.runs("deploy") == []
    return told.stdout


def test_another_account(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text('account = "999988887777"\n' + path.read_text())

    refused(
        raytrain,
        cdk,
        4,
        r"account = '999988887777' in environments/dev.toml\s+expected: credentials of it; these are of 111122223333 "
        r"\(arn:aws:iam::111122223333:user/ada\)\s+to do:    export AWS_PROFILE",
    )


def test_a_region_that_is_not_enabled(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.closed, aws.regions = ("us-east-2",), {}

    refused(raytrain, cdk, 4, r"region = 'us-east-2' .*\s+expected: a region that is enabled.*\s+to do:    aws account")


def test_a_region_that_aws_does_not_have(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().replace("us-east-2", "us-est-2"))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 2
    assert re.search(
        r"region = 'us-est-2' in environments/dev.toml\s+expected: a region of AWS, such as us-east-2\s+"
        r"to do:    write us-east-2\?",
        told.stderr,
    ), told.stderr
    assert "enable-region" not in told.stderr


def test_an_account_without_bootstrap(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.refusals["GetParameter"] = Refused("ParameterNotFound")

    refused(
        raytrain,
        cdk,
        1,
        r"CDK bootstrap of 111122223333/us-east-2 = none\s+expected: .*\s+to do:    npx cdk bootstrap "
        r"aws://111122223333/us-east-2",
    )


@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("UPDATE_ROLLBACK_FAILED", "npx cdk rollback Cluster -c environment=dev"),
        ("DELETE_FAILED", "npx cdk destroy Cluster -c environment=dev"),
        (
            "CREATE_FAILED",
            "npx cdk rollback Cluster -c environment=dev, or go on with what is there: raytrain deploy dev -- "
            "--no-rollback",
        ),
        ("UPDATE_FAILED", "npx cdk rollback Cluster -c environment=dev, or go on with what is there:"),
    ],
)
def test_a_stack_that_cloudformation_does_not_change(
    raytrain: Raytrain, cdk: FakeCdk, status: str, command: str
) -> None:
    cdk.there = {"Network": "CREATE_COMPLETE", "Cluster": status}

    refused(raytrain, cdk, 1, rf"ray-train-dev-Cluster = {status}\s+expected: .*\s+to do:    {command}")


def test_an_environment_that_the_checks_refuse(raytrain: Raytrain, cdk: FakeCdk) -> None:
    (cdk.folder / "synth").write_text("1")

    refused(raytrain, cdk, 2, r"npx cdk synth -c environment=dev: exit code 1\s+expected: templates")


def test_a_cdk_command_line_that_is_not_set_up(
    raytrain: Raytrain, cdk: FakeCdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops.deploy.cdk, "COMMAND", (str(cdk.folder / "nothing"),))

    refused(raytrain, cdk, 1, r"nothing = not found\s+expected: the CDK command line\s+to do:    run make setup")


@pytest.mark.failure_mode("C17")
def test_a_quota_that_is_too_small(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.regions["us-east-2"].quota = 32.0

    printed = refused(
        raytrain,
        cdk,
        3,
        r"2 x g6.12xlarge in us-east-2a, us-east-2b, us-east-2c\s+expected: a zone .*\s+to do: .*nothing was deployed",
    )
    assert "aws service-quotas request-service-quota-increase" in printed


def test_zones_of_the_environment_that_offer_nothing(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.regions["us-east-2"].zones["us-east-2d"] = "use2-az4"
    aws.regions["us-east-2"].offered = ["us-east-2d"]

    refused(raytrain, cdk, 3, r"2 x g6.12xlarge in us-east-2a, us-east-2b, us-east-2c\s+expected: a zone that offers")


def test_no_room_for_the_proof(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.regions["us-east-2"].no_room = dict.fromkeys(aws.regions["us-east-2"].zones, "InsufficientInstanceCapacity")

    told = raytrain("deploy", "dev", "--yes", "--probe")

    assert told.exit_code == 3
    assert told.stdout.count("no capacity (InsufficientInstanceCapacity)") == 3
    assert cdk.runs("deploy") == []


def test_capacity_that_may_not_be_read_is_left_to_the_probe(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.refusals["DescribeInstanceTypeOfferings"] = Refused("UnauthorizedOperation")

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 0
    assert "Note: capacity is not known (ec2:DescribeInstanceTypeOfferings in us-east-2 = denied)" in told.stdout


def test_a_stack_that_may_not_be_read(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    aws.refusals["DescribeStacks"] = Refused("AccessDenied", "not authorized to perform: cloudformation:DescribeStacks")

    refused(raytrain, cdk, 4, r"cloudformation:DescribeStacks in us-east-2 = denied\s+expected: permission for it")
