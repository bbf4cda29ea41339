from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.modes import MODES
from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import MODE_NAMES, Properties, parse

from .fakes import SUBNETS, TAGS, A, B
from .sent import PLANTED, of_mode, properties

HELD_IN = "arn:aws:resource-groups:us-east-2:111111111111:group/dev-Gpu-CapacityReservations"
GROUP = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


def test_strings_become_numbers_and_what_is_optional_may_be_absent() -> None:
    assert parse(properties()) == Properties(
        instance_type="g6.12xlarge",
        count=2,
        vcpus_per_instance=48,
        quota_code="L-DB2E81BA",
        quota_families=("g", "vt"),
        mode="probe",
        zone=None,
        subnets_by_zone=SUBNETS,
        placement_group_arn=None,
        tags=TAGS,
    )
    full = parse(properties(Mode="zone", Zone=A, PlacementGroupArn=GROUP, ForceToken="again"))
    assert (full.zone, full.placement_group_arn) == (A, GROUP)


def test_what_belongs_to_a_mode() -> None:
    hold = parse(of_mode("hold", ExcludeZones=[B]))
    assert (hold.hold_minutes, hold.group_arn, hold.candidates) == (60, HELD_IN, {A: "subnet-0a"})
    named = parse(of_mode("reservation", ReservationType="capacity-block"))
    assert (named.reservation_id, named.capacity_block) == (PLANTED, True)
    assert not parse(of_mode("reservation")).capacity_block


def test_the_group_s_need_is_its_size_times_the_vcpus_of_one() -> None:
    assert parse(properties()).vcpus_needed == 96
    assert parse(properties()).wanted == "2 x g6.12xlarge"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"Count": None, "Mode": None}, "Missing properties: Count, Mode."),
        ({"Cuont": "2"}, "Unknown properties: Cuont."),
        ({"InstanceType": "g6"}, "InstanceType is 'g6': expected a type such as g6.12xlarge."),
        ({"Count": "0"}, "Count is '0': expected a whole number from 1 to 999999, as a string."),
        ({"Count": "two"}, "Count is 'two': expected a whole number from 1 to 999999, as a string."),
        (
            {"VcpusPerInstance": "4.5"},
            "VcpusPerInstance is '4.5': expected a whole number from 1 to 999999, as a string.",
        ),
        ({"QuotaCode": "DB2E81BA"}, "QuotaCode is 'DB2E81BA': expected a code such as L-DB2E81BA."),
        ({"QuotaFamilies": []}, "QuotaFamilies is []: expected a list of instance family prefixes such as g, vt."),
        ({"QuotaFamilies": ["g6"]}, "QuotaFamilies is 'g6': expected prefixes of letters, such as g."),
        ({"Mode": "holdd"}, "Mode is 'holdd': expected one of hold, probe, offerings, zone, reservation."),
        ({"Zone": A}, "Zone is 'us-east-2a': expected none in mode probe, which would ignore it."),
        ({"Mode": "zone"}, "Zone is None: expected a value in mode zone."),
        (
            {"Mode": "zone", "Zone": "us-east-2c"},
            "Zone is 'us-east-2c': expected one of the zones that have a subnet (us-east-2a, us-east-2b).",
        ),
        ({"HoldMinutes": "60"}, "HoldMinutes is '60': expected none in mode probe, which would ignore it."),
        (of_mode("hold") | {"HoldMinutes": None}, "HoldMinutes is None: expected a value in mode hold."),
        (of_mode("hold") | {"GroupArn": None}, "GroupArn is None: expected a value in mode hold."),
        (of_mode("hold") | {"GroupArn": "x"}, "GroupArn is 'x': expected the ARN of a resource group."),
        (
            of_mode("hold") | {"HoldMinutes": "an hour"},
            "HoldMinutes is 'an hour': expected a whole number from 1 to 999999, as a string.",
        ),
        (
            of_mode("reservation") | {"ReservationId": "lt-1"},
            "ReservationId is 'lt-1': expected an id such as cr-0123456789abcdef0.",
        ),
        (
            of_mode("reservation") | {"ReservationType": "block"},
            "ReservationType is 'block': expected on-demand or capacity-block.",
        ),
        (
            {"ExcludeZones": ["us-east-2c"]},
            "ExcludeZones is ['us-east-2c']: expected zones of the candidates (us-east-2a, us-east-2b).",
        ),
        (
            {"ExcludeZones": [A, B]},
            "ExcludeZones is ['us-east-2a', 'us-east-2b']: expected at least one candidate zone to be left.",
        ),
        (
            {"ExcludeZones": [B], "Mode": "zone", "Zone": A},
            "ExcludeZones is ['us-east-2b']: expected none in mode zone, which does not search.",
        ),
        ({"SubnetsByZone": {}}, "SubnetsByZone is {}: expected a map of strings with at least one entry."),
        (
            {"SubnetsByZone": {"use2-az1": "subnet-0a"}},
            "SubnetsByZone key use2-az1 is 'use2-az1': expected an Availability Zone such as us-east-2a.",
        ),
        (
            {"SubnetsByZone": {A: "vpc-0a"}},
            "SubnetsByZone.us-east-2a is 'vpc-0a': expected a subnet id such as subnet-0123456789abcdef0.",
        ),
        (
            {"PlacementGroupArn": "efa"},
            "PlacementGroupArn is 'efa': expected the ARN of a placement group.",
        ),
        ({"ForceToken": ["x"]}, "ForceToken is ['x']: expected a string."),
        (
            {"Tags": {"team": "x"}},
            "Tags is {'team': 'x'}: expected the tag eks-ray-train:stack with the stack's name, by which leftovers are "
            "found.",
        ),
    ],
)
def test_an_error_names_the_property_the_value_and_what_was_expected(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ProbeError) as caught:
        parse(properties(**changes))
    assert str(caught.value) == text


@pytest.mark.parametrize("zone", ["us-east-2a", "ap-southeast-1c", "us-gov-west-1b", "us-west-2-lax-1a"])
def test_zone_names_of_every_kind_are_known(zone: str) -> None:
    assert parse(properties(SubnetsByZone={zone: "subnet-0a"})).subnets_by_zone == {zone: "subnet-0a"}


def test_every_mode_that_is_accepted_is_one_function() -> None:
    assert tuple(MODES) == MODE_NAMES
