"""`raytrain capacity`: what it asks, what it recommends, and what it prints."""

import json
import re
from pathlib import Path

import pytest

from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused, region

THREE = ("us-east-1", "us-east-2", "us-west-2")


def test_the_environments_region_is_asked_and_only_read(raytrain: Raytrain, aws: FakeAws) -> None:
    told = raytrain("capacity")

    assert told.exit_code == 0, told.output
    assert "us-east-2: may take them: 3 zones; zones a (-), b (-), c (-); vCPUs free 192 of 192" in told.stdout
    assert all(re.match(r"(Get|Describe)", operation) for operation in aws.operations())
    assert {where for where, _, _ in aws.calls} == {"us-east-2"}


def test_the_best_score_of_all_regions_is_recommended_with_price_and_next_command(
    raytrain: Raytrain, aws: FakeAws
) -> None:
    aws.regions = {name: region(name) for name in THREE}
    aws.regions["us-west-2"].scores = {"us-west-2b": 7, "us-west-2a": 3}
    aws.regions["us-east-2"].scores = {"us-east-2a": 5}

    told = raytrain("capacity", "--all-regions")

    assert told.exit_code == 0, told.output
    assert "Recommended: us-west-2b (not proven: --probe reserves them for a moment)" in told.stdout
    assert "zones for the cluster: us-west-2a, us-west-2b, us-west-2c" in told.stdout
    assert re.search(
        r"Price: 2 x g6\.12xlarge, \$9\.20 an hour \(on demand in us-east-\d, \d{4}-\d\d-\d\d", told.stdout
    )
    assert "Next: raytrain capacity dev --regions us-west-2 --write dev" in told.stdout


def test_what_only_the_alphabet_tells_apart_stays_at_home(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions = {"us-east-1": region("us-east-1"), "us-east-2": region("us-east-2", letters="0abc")}

    told = raytrain("capacity", "--all-regions")

    assert "Recommended: us-east-2a " in told.stdout
    assert "Next: raytrain deploy dev" in told.stdout


def test_regions_that_refuse_are_shown_with_the_reason_and_stop_nothing(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions = {name: region(name) for name in THREE}
    aws.closed = ("me-south-1",)
    aws.refusals["us-east-1", "DescribeInstanceTypeOfferings"] = Refused(
        "UnauthorizedOperation", "You are not authorized to perform: ec2:DescribeInstanceTypeOfferings"
    )
    aws.refusals["us-west-2", "DescribeInstances"] = Refused("AuthFailure")

    told = raytrain("capacity", "--all-regions")

    assert told.exit_code == 0
    assert "me-south-1: not enabled for this account" in told.stdout
    assert "us-east-1: ec2:DescribeInstanceTypeOfferings in us-east-1 = denied" in told.stdout
    assert "us-west-2: not enabled for this account, or closed to it (AuthFailure)" in told.stdout
    assert "Recommended: us-east-2a" in told.stdout
    assert "me-south-1" not in {where for where, _, _ in aws.calls}


def test_scores_that_are_denied_or_capped_are_said_and_reject_nothing(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.refusals["GetSpotPlacementScores"] = Refused("UnauthorizedOperation")

    told = raytrain("capacity")

    assert told.exit_code == 0
    assert "Note: no Spot placement scores: zones are ranked without them" in told.stdout
    assert "{" not in told.stdout  # the probe's log lines are CloudWatch's


def test_a_throttled_region_is_shown_as_such(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-west-2"] = region("us-west-2")
    aws.refusals["us-west-2", "DescribeInstances"] = Refused("RequestLimitExceeded", "Request limit exceeded.")

    told = raytrain("capacity", "--regions", "us-east-2,us-west-2")

    assert told.exit_code == 0
    assert re.search(r"us-west-2: EC2 still throttles DescribeInstances", told.stdout), told.stdout


def test_a_zone_that_the_environment_excludes_is_not_recommended(
    raytrain: Raytrain, aws: FakeAws, folder: Path
) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().replace("[capacity]\n", '[capacity]\nexclude_zones = ["us-east-2a"]\n'))

    told = json.loads(raytrain("capacity", "--json").stdout)

    assert told["recommendation"]["zone"] == "us-east-2b"
    assert {zone["zone"]: zone["rejected"] for zone in told["regions"][0]["zones"]}["us-east-2a"] == (
        "excluded by the settings"
    )


def test_a_quota_that_is_too_small_names_the_request(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-east-2"].quota = 32.0
    aws.regions["us-east-2"].instances = [
        {"InstanceType": "g5.xlarge", "CpuOptions": {"CoreCount": 2, "ThreadsPerCore": 2}}
    ]

    told = raytrain("capacity")

    assert told.exit_code == 3
    assert "quota: 96 vCPUs needed, 28 free" in told.stdout
    assert (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
        "--desired-value 100 --region us-east-2"
    ) in told.stdout
    assert "Other regions: raytrain capacity --all-regions" in told.stdout


def test_a_zone_where_eks_has_no_control_plane_is_left_out(raytrain: Raytrain, aws: FakeAws) -> None:
    zones = {"us-east-1a": "use1-az1", "us-east-1b": "use1-az3", "us-east-1c": "use1-az2"}
    aws.regions["us-east-1"] = region("us-east-1", zones=zones, offered=["us-east-1b", "us-east-1c"])

    told = json.loads(raytrain("capacity", "--regions", "us-east-1", "--json").stdout)

    rejected = {zone["zone"]: zone["rejected"] for zone in told["regions"][0]["zones"]}
    assert rejected == {
        "us-east-1a": "not offered",
        "us-east-1b": "no EKS control plane here",
        "us-east-1c": None,
    }
    assert told["recommendation"]["zones"] == ["us-east-1a", "us-east-1c"]


def test_another_type_and_count_are_asked_instead(raytrain: Raytrain, aws: FakeAws) -> None:
    told = json.loads(raytrain("capacity", "--instance-type", "g6e.12xlarge", "--count", "4", "--json").stdout)

    assert (told["instance_type"], told["count"], told["vcpus_needed"]) == ("g6e.12xlarge", 4, 192)
    asked = [given for _, name, given in aws.calls if name == "DescribeInstanceTypeOfferings"]
    assert asked[0]["Filters"] == [{"Name": "instance-type", "Values": ["g6e.12xlarge"]}]
    assert "change gpu_nodes in environments/dev.toml" not in told["next"]


def test_json_is_one_document_of_a_fixed_shape(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-east-2"].scores = {"us-east-2b": 4}
    aws.closed = ("me-south-1",)

    told = raytrain("capacity", "--regions", "us-east-2,me-south-1", "--json")

    document = json.loads(told.stdout)
    date = document["price"].pop("date")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    assert document == {
        "account": "111122223333",
        "instance_type": "g6.12xlarge",
        "count": 2,
        "vcpus_needed": 96,
        "price": {"usd_per_hour": 9.2032, "region": document["price"]["region"]},
        "regions": [
            {
                "region": "me-south-1",
                "refused": "not enabled for this account",
                "quota": None,
                "scores_ignored": None,
                "zones": [],
            },
            {
                "region": "us-east-2",
                "refused": None,
                "quota": {"code": "L-DB2E81BA", "limit": 192, "used": 0},
                "scores_ignored": None,
                "zones": [
                    {"zone": "us-east-2b", "offered": True, "score": 4, "rejected": None},
                    {"zone": "us-east-2a", "offered": True, "score": None, "rejected": None},
                    {"zone": "us-east-2c", "offered": True, "score": None, "rejected": None},
                ],
            },
        ],
        "warnings": [],
        "probe": None,
        "recommendation": {
            "region": "us-east-2",
            "zone": "us-east-2b",
            "zones": ["us-east-2a", "us-east-2b", "us-east-2c"],
            "proven": False,
        },
        "next": "raytrain deploy dev",
    }


def test_no_usable_zone_is_null_and_exit_code_3(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-east-2"].offered = []

    told = raytrain("capacity", "--json")

    assert told.exit_code == 3
    assert json.loads(told.stdout)["recommendation"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--regions", "us-est-1"], r"--regions = 'us-est-1'\s+expected: a region of AWS, such as us-east-2\s+to do:"),
        (["--regions", " , "], r"--regions = ' , '\s+expected: names with commas between"),
        (["--regions", "us-east-2", "--all-regions"], r"--regions and --all-regions\s+expected: one of them"),
        (
            ["--instance-type", "g6.12xlrge"],
            r"--instance-type = 'g6.12xlrge'\s+expected: an instance type of the table[^\n]*g6.12xlarge"
            r"[^\n]*\s+to do:    write g6.12xlarge\?",
        ),
        (["--instance-type", "m7i.xlarge"], r"--instance-type = 'm7i.xlarge'\s+expected: .* with GPUs and EFA"),
        (["nowhere"], r"environment = 'nowhere'\s+expected: one of dev, prod"),
        (
            ["--count", "3", "--write", "dev"],
            r"--write = 'dev'\s+expected: an environment of 3 x g6.12xlarge; it has 2",
        ),
    ],
)
def test_wrong_options_name_field_value_and_remedy(
    raytrain: Raytrain, aws: FakeAws, arguments: list[str], said: str
) -> None:
    told = raytrain("capacity", *arguments)

    assert told.exit_code == 2
    assert re.search(said, told.stderr), told.stderr
    assert not {"DescribeInstances", "CreateCapacityReservation"} & set(aws.operations())
