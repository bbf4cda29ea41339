from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import Choice, choose, current, kept

from .fakes import SUBNETS, A, B, C, properties

OLD = properties(ForceToken="1")
CHOICE = choose(A, SUBNETS[A], OLD)
ID = CHOICE.physical_id()


def test_the_id_starts_with_zone_and_subnet_and_can_be_read_back() -> None:
    assert ID.startswith("us-east-2a/subnet-0a/")
    assert current(ID) == CHOICE
    assert current("i-wrote-no-such-id") is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"Count": "3"},
        {"Tags": {"eks-ray-train:stack": "dev-Gpu", "team": "x"}},
        {"QuotaCode": "L-00000000"},
        {"SubnetsByZone": {B: "subnet-0b", A: "subnet-0a"}},
        {"SubnetsByZone": {A: "subnet-0a", B: "subnet-0bb"}},
        {"ServiceToken": "arn:aws:lambda:us-east-2:111111111111:function:other"},
    ],
)
def test_what_does_not_decide_keeps_the_zone_and_the_id(changes: dict[str, Any]) -> None:
    assert kept(ID, OLD, OLD | changes) == (CHOICE, ID)


@pytest.mark.parametrize(
    "changes",
    [
        {"InstanceType": "g6.24xlarge"},
        {"Mode": "zone"},
        {"Mode": "zone", "Zone": A},
        {"ForceToken": "2"},
        {"ForceToken": None},
        {"PlacementGroupArn": "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"},
        {"SubnetsByZone": {A: "subnet-0a"}},
        {"SubnetsByZone": {A: "subnet-0a", B: "subnet-0b", C: "subnet-0c"}},
        {"SubnetsByZone": {A: "subnet-0aa", B: "subnet-0b"}},
        {"SubnetsByZone": {B: "subnet-0b"}},
    ],
)
def test_what_decides_asks_for_a_new_choice(changes: dict[str, Any]) -> None:
    assert kept(ID, OLD, properties(**(OLD | changes))) is None


def test_the_fixed_zone_decides() -> None:
    old = properties(Mode="zone", Zone=A)
    assert kept(choose(A, SUBNETS[A], old).physical_id(), old, properties(Mode="zone", Zone=B)) is None


def test_undoing_an_update_whose_probe_failed_keeps_the_zone() -> None:
    failed = OLD | {"ForceToken": "2"}
    assert kept(ID, failed, OLD) == (CHOICE, ID)


def test_undoing_an_update_whose_later_resources_failed_goes_back_to_the_zone_before() -> None:
    new = OLD | {"ForceToken": "2"}
    moved = choose(B, SUBNETS[B], new).physical_id(before=CHOICE)
    assert kept(moved, OLD | {"Count": "9"}, new) == (choose(B, SUBNETS[B], new), moved)
    assert kept(moved, new, OLD) == (CHOICE, ID)
    assert kept(moved, new, OLD | {"ForceToken": "3"}) is None
    assert kept(moved, new, OLD | {"SubnetsByZone": {A: "subnet-0aa", B: "subnet-0b"}}) is None


def test_an_id_that_this_code_did_not_write_asks_for_a_new_choice() -> None:
    assert kept("us-east-2a", OLD, OLD) is None


def test_the_id_holds_one_choice_before_and_stays_short() -> None:
    long = Choice(zone="ap-southeast-99-lax-99a", subnet_id="subnet-0123456789abcdef0", digest="0" * 12)
    assert len(long.physical_id(before=long)) < 200


def test_an_update_of_the_code_that_digests_otherwise_moves_nobody() -> None:
    other = Choice(zone=A, subnet_id=SUBNETS[A], digest="of-old-code")
    assert kept(other.physical_id(), OLD, OLD | {"Count": "3"}) == (other, other.physical_id())
