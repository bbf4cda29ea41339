"""`raytrain deploy`: the plan, one question, and the plain CDK command."""

import os
import re
import signal
import stat
import sys

import pytest

import ops.deploy.before
import ops.deploy.cdk
from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws
from tests.ops.fake_stacks import IDS, FakeCdk, Outcome

OK = Outcome("ok")
A, B, C = "us-east-2a", "us-east-2b", "us-east-2c"
DEPLOYED = dict.fromkeys(IDS, "CREATE_COMPLETE")


def test_one_question_with_the_price_then_the_plain_cdk_command(raytrain: Raytrain, cdk: FakeCdk) -> None:
    told = raytrain("deploy", "dev", answer="y\n")

    assert told.exit_code == 0, told.output
    assert re.search(r"\d+\.\d{4}  2 x g6\.12xlarge", told.stdout)
    assert "This creates 5 of 5 stacks, IAM roles and security groups included, at $9.55 an hour in all. Deploy?" in (
        told.stdout
    )
    assert told.stdout.count("[y/N]") == 1
    assert cdk.runs("deploy") == [["deploy", "--all", "-c", "environment=dev", "--concurrency", "3"]]
    assert "Deployed. GPU nodes: us-east-2c; run: train-new" in told.stdout
    assert "Results: s3://results/runs/train-new/" in told.stdout
    assert "To end it: npx cdk destroy --all -c environment=dev" in told.stdout


def test_no_is_an_answer(raytrain: Raytrain, cdk: FakeCdk) -> None:
    told = raytrain("deploy", "dev", answer="n\n")

    assert told.exit_code == 0
    assert "Nothing was changed." in told.stdout
    assert cdk.runs("deploy") == []


def test_nobody_to_ask_names_yes(raytrain: Raytrain, cdk: FakeCdk) -> None:
    told = raytrain("deploy", "dev")

    assert told.exit_code == 2
    assert "to do:    say --yes" in told.stderr
    assert cdk.runs("deploy") == []


def test_a_plan_creates_nothing(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    told = raytrain("deploy", "dev", "--plan")

    assert told.exit_code == 0
    assert re.search(r"Network +create\n", told.stdout)
    # Two nodes for the 60 minutes of the hold and the hour in which EC2 ends it.
    assert "Reserved capacity that no node fills would cost $18.41 at most" in told.stdout
    assert "The Kubernetes API will be private" in told.stdout
    assert "Nothing was created. To do it: raytrain deploy dev" in told.stdout
    assert cdk.runs("deploy") == []
    assert all(re.match(r"(Get|Describe)", operation) for operation in aws.operations())


def test_a_plan_reserves_nothing_either(raytrain: Raytrain, cdk: FakeCdk) -> None:
    told = raytrain("deploy", "dev", "--plan", "--probe")

    assert told.exit_code == 2
    assert "--plan and --probe\n    expected: one of them" in told.stderr


def test_a_job_that_would_be_replaced_is_in_the_question(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    cdk.there = DEPLOYED

    told = raytrain("deploy", "dev", answer="n\n")

    assert "The training job train-old is replaced by train-new: if it still runs, it is stopped." in told.stdout
    assert "and stops train-old if it runs. Deploy?" in told.stdout
    assert re.search(r"Network +unchanged\n", told.stdout)
    assert re.search(r"Training +update\n", told.stdout)
    assert "Reserved capacity" not in told.stdout
    assert "The GPU nodes are there, in us-east-2c: capacity is not asked." in told.stdout
    assert "DescribeInstanceTypeOfferings" not in aws.operations()


def test_an_unchanged_job_is_not_in_the_question(raytrain: Raytrain, cdk: FakeCdk) -> None:
    cdk.there, cdk.deployed_run = DEPLOYED, cdk.written_run

    told = raytrain("deploy", "dev", answer="n\n")

    assert "replaced" not in told.stdout
    assert re.search(r"Training +unchanged\n", told.stdout)


def test_what_follows_the_dashes_goes_to_cdk(raytrain: Raytrain, cdk: FakeCdk) -> None:
    raytrain("deploy", "dev", "--yes", "--", "--no-rollback", "--require-approval", "broadening")

    (run,) = cdk.runs("deploy")
    assert run[6:] == ["--no-rollback", "--require-approval", "broadening"]


def test_the_proof_comes_first_when_asked_for(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    told = raytrain("deploy", "dev", "--probe", "--yes")

    assert told.exit_code == 0
    assert "us-east-2a: EC2 reserved 2 x g6.12xlarge; the reservation is cancelled" in told.stdout
    assert aws.open == []


def test_the_proof_asks_before_the_deploy_does(raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws) -> None:
    told = raytrain("deploy", "dev", "--probe", answer="n\nn\n")

    assert told.exit_code == 0, told.output
    assert told.stdout.index("Reserve? [y/N]") < told.stdout.index("Nothing was reserved.")
    assert told.stdout.index("Nothing was reserved.") < told.stdout.index("Deploy? [y/N]")
    assert "CreateCapacityReservation" not in aws.operations()


@pytest.mark.parametrize(
    ("deployed", "most"),
    [
        ({}, None),
        ({"Count": "3"}, None),
        ({"Count": "1"}, "$9.20 at most"),  # one node is added, where the others are
        ({"InstanceType": "g5.12xlarge"}, "$18.41 at most"),
        ({"Count": "1", "ExcludeZones": "us-east-2a"}, "$18.41 at most"),
        ({"ServiceToken": "another function"}, None),
    ],
)
def test_what_a_change_may_reserve_is_priced(
    raytrain: Raytrain, cdk: FakeCdk, deployed: dict[str, str], most: str | None
) -> None:
    cdk.there, cdk.deployed_probe = DEPLOYED, deployed

    told = raytrain("deploy", "dev", "--plan")

    assert told.exit_code == 0, told.output
    assert re.findall(r"Reserved capacity that no node fills would cost (\S+ at most)", told.stdout) == (
        [most] if most else []
    )


def test_what_cloudformation_still_does_is_waited_for(
    raytrain: Raytrain, cdk: FakeCdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops.deploy.before, "_POLL_SECONDS", 0.0)
    cdk.moving = ["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"]

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 0, told.output
    waits = re.findall(r"ray-train-dev-Gpu: (\w+); waiting", told.stdout)
    assert waits == ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"]


def test_ctrl_c_says_what_goes_on_and_how_to_pick_up(
    raytrain: Raytrain, cdk: FakeCdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupting = cdk.folder / "interrupting"
    interrupting.write_text(
        f"#!{sys.executable}\nimport os, signal, subprocess, sys, time\n"
        f"if sys.argv[1] == 'synth': sys.exit(subprocess.call([{str(cdk.folder / 'cdk')!r}, *sys.argv[1:]]))\n"
        f"os.kill({os.getpid()}, signal.SIGINT)\ntime.sleep(60)\n"
    )
    interrupting.chmod(interrupting.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(ops.deploy.cdk, "COMMAND", (str(interrupting),))
    monkeypatch.setattr(ops.deploy.cdk, "_SECONDS_TO_END", 0.1)

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 128 + signal.SIGINT
    text = " ".join(told.stdout.split())
    assert "What CloudFormation has begun it goes on with, and it costs." in text
    assert "To pick up where this stopped: raytrain deploy dev." in text
