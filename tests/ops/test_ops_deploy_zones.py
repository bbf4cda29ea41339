"""`raytrain deploy` when EC2 has no room: zone after zone, and the truth about what is left."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws
from tests.ops.fake_stacks import IDS, SAID, FakeCdk, Outcome

OK = Outcome("ok")
A, B, C = "us-east-2a", "us-east-2b", "us-east-2c"
DEPLOYED = dict.fromkeys(IDS, "CREATE_COMPLETE")


def excluded(folder: Path) -> list[str]:
    capacity = tomllib.loads((folder / "dev.toml").read_text())["capacity"]
    zones: list[str] = capacity.get("exclude_zones", [])
    return zones


@pytest.mark.failure_mode("C2")
def test_a_zone_without_room_is_excluded_and_the_next_one_tried(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    cdk.plan(Outcome("nodes", A), Outcome("nodes", B), OK)
    before = (folder / "dev.toml").read_text()

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 0, told.output
    assert len(cdk.runs("deploy")) == 3
    assert f"The Auto Scaling group's last error: {SAID.format(zone=A)}" in told.stdout
    assert f"The Auto Scaling group's last error: {SAID.format(zone=B)}" in told.stdout
    assert "us-east-2a is now in capacity.exclude_zones of environments/dev.toml" in told.stdout
    assert "so that a plain cdk deploy agrees" in told.stdout
    assert "Going on with us-east-2b, us-east-2c." in told.stdout
    assert excluded(folder) == [A, B]
    kept = (folder / "dev.toml").read_text().splitlines()
    assert [line for line in before.splitlines() if line not in kept] == []


def test_after_the_last_zone_it_says_what_exists_and_costs(
    raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws, folder: Path
) -> None:
    cdk.plan(Outcome("nodes", A), Outcome("nodes", B), Outcome("nodes", C))
    aws.reservations.append(
        {
            "CapacityReservationId": "cr-held",
            "State": "active",
            "Region": "us-east-2",
            "Tags": [{"Key": "eks-ray-train:stack", "Value": "ray-train-dev-Gpu"}],
            "TotalInstanceCount": 2,
            "EndDate": datetime(2026, 11, 29, 12, 30, tzinfo=UTC),
        }
    )

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 3
    assert len(cdk.runs("deploy")) == 3
    assert excluded(folder) == [A, B]  # without a last one nothing could be deployed at all
    assert "us-east-2c was the last zone." in told.stdout
    end = told.stdout[told.stdout.index("What exists:") :]
    assert "ray-train-dev-Gpu: ROLLBACK_COMPLETE" in end
    assert "ray-train-dev-Network: CREATE_COMPLETE" in end
    assert "ray-train-dev-Training" not in end
    assert re.search(r"0\.1000  1 x EKS control plane", end)
    assert "0.3466  in all" in end
    assert "x g6.12xlarge, until 2026-11-29 12:30 UTC" in end
    assert "2 x g6.12xlarge\n" not in end
    assert "To end it: npx cdk destroy --all -c environment=dev" in end


def test_a_second_run_goes_on_where_the_first_stopped(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    cdk.plan(Outcome("nodes", A), Outcome("other", reason="no such AMI"), OK)

    first = raytrain("deploy", "dev", "--yes")
    second = raytrain("deploy", "dev", "--yes")

    assert (first.exit_code, second.exit_code) == (1, 0)
    assert excluded(folder) == [A]
    assert re.search(r"Gpu +create \(what is left of the failed one is deleted first\)", second.stdout)
    assert re.search(r"Network +unchanged", second.stdout)
    assert "us-east-2a" not in second.stdout.split("Deployed")[1]


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (Outcome("probe", reason="No zone of us-east-2 has room for 2 x g6.12xlarge now."), 3, "found no zone"),
        (Outcome("other", A, "LaunchTemplate is malformed"), 1, "LaunchTemplate: LaunchTemplate is malformed"),
        (Outcome("nodes", A, "Instances failed to join the kubernetes cluster"), 1, None),
        (Outcome("other stack"), 1, "The deploy failed; the CDK command line says why, above."),
    ],
)
def test_only_a_launch_without_room_tries_another_zone(
    raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws, folder: Path, outcome: Outcome, code: int, said: str | None
) -> None:
    cdk.plan(outcome)
    if said is None:  # the group launched its instances, and says nothing of capacity
        aws.answers["DescribeScalingActivities"] = lambda where, given: {"Activities": []}

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == code, told.output
    assert len(cdk.runs("deploy")) == 1
    assert excluded(folder) == []
    assert (said or outcome.reason) in told.stdout
    assert "What exists:" in told.stdout


def test_the_zone_is_the_probes_where_the_group_left_no_trace(
    raytrain: Raytrain, cdk: FakeCdk, aws: FakeAws, folder: Path
) -> None:
    cdk.plan(Outcome("nodes", B), OK)
    aws.answers["DescribeScalingActivities"] = lambda where, given: {"Activities": []}

    assert raytrain("deploy", "dev", "--yes").exit_code == 0
    assert excluded(folder) == [B]


@pytest.mark.failure_mode("C12")
def test_nodes_that_run_are_not_moved_to_another_zone(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    cdk.there = DEPLOYED
    cdk.plan(Outcome("nodes", A))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 3
    assert "The nodes that run stay where they are: another zone would replace them." in told.stdout
    assert excluded(folder) == []
    assert "2 x g6.12xlarge" in told.stdout[told.stdout.index("What exists:") :]


def test_a_fixed_zone_has_no_next(raytrain: Raytrain, cdk: FakeCdk, folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(
        re.sub(r"(?s)\[capacity\].*?\n\n", f'[capacity]\nmode = "zone"\nzone = "{B}"\n\n', path.read_text())
    )
    cdk.plan(Outcome("nodes", B))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == 3
    assert "capacity.mode = 'zone' names the zone: there is no other to try." in told.stdout
