from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import parse
from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import Choice, Kept, choose, current, hold_of, kept

from .fakes import SUBNETS, A, B, C
from .sent import PLANTED, of_mode, properties

OLD = properties(ForceToken="1")
CHOICE = choose(A, SUBNETS[A], OLD, "hold-1")
ID = CHOICE.physical_id()
GROUP = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


def keeps(physical_id: str, old: dict[str, Any], new: dict[str, Any], *, undoing: bool = True) -> Kept | None:
    return kept(physical_id, old, new, parse(new), lambda: undoing)


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
        {"Mode": "offerings"},
        {"Mode": "zone", "Zone": A},
        {key: value for key, value in of_mode("hold").items() if key in ("Mode", "HoldMinutes", "GroupArn")},
    ],
)
def test_what_does_not_decide_keeps_the_zone_and_the_id(changes: dict[str, Any]) -> None:
    assert keeps(ID, OLD, OLD | changes) == Kept(choice=CHOICE, physical_id=ID, undoes=False)


@pytest.mark.failure_mode("C12")
@pytest.mark.parametrize(
    "changes",
    [
        {"InstanceType": "g6.24xlarge"},
        {"Mode": "zone", "Zone": B},
        {"Mode": "reservation", "ReservationId": PLANTED, "ReservationType": "on-demand"},
        {"ForceToken": "2"},
        {"ForceToken": None},
        {"ExcludeZones": [B]},
        {"ExcludeZones": [A]},
        {"PlacementGroupArn": GROUP},
        {"SubnetsByZone": {A: "subnet-0a"}},
        {"SubnetsByZone": {A: "subnet-0a", B: "subnet-0b", C: "subnet-0c"}},
        {"SubnetsByZone": {A: "subnet-0aa", B: "subnet-0b"}},
        {"SubnetsByZone": {B: "subnet-0b"}},
    ],
)
def test_what_decides_asks_for_a_new_choice(changes: dict[str, Any]) -> None:
    assert keeps(ID, OLD, properties(**(OLD | changes))) is None


def test_the_fixed_zone_decides_when_it_is_another_one() -> None:
    old = properties(Mode="zone", Zone=A)
    there = choose(A, SUBNETS[A], old, "hold-1").physical_id()
    assert keeps(there, old, properties(Mode="zone", Zone=B)) is None


def test_another_reservation_is_another_choice() -> None:
    old = of_mode("reservation")
    there = choose(A, SUBNETS[A], old, "hold-1").physical_id()
    assert keeps(there, old, old | {"ReservationId": "cr-0fedcba9876543210"}) is None
    assert keeps(there, old, old | {"ReservationType": "capacity-block"}) is None
    assert keeps(there, old, old | {"Count": "1"}) is not None


def test_undoing_an_update_whose_probe_failed_keeps_the_zone() -> None:
    failed = OLD | {"ForceToken": "2", "Count": "1"}
    assert keeps(ID, failed, OLD) == Kept(choice=CHOICE, physical_id=ID, undoes=True)


def test_undoing_an_update_whose_later_resources_failed_goes_back_to_the_zone_before() -> None:
    new = OLD | {"ForceToken": "2"}
    there = choose(B, SUBNETS[B], new, "hold-2")
    moved = there.physical_id(before=ID)
    assert keeps(moved, OLD | {"Count": "9"}, new) == Kept(choice=there, physical_id=moved, undoes=True)
    assert keeps(moved, new, OLD) == Kept(choice=CHOICE, physical_id=ID, undoes=True)
    assert keeps(moved, new, OLD | {"ForceToken": "3"}) is None
    assert keeps(moved, new, OLD | {"SubnetsByZone": {A: "subnet-0aa", B: "subnet-0b"}}) is None


def test_a_user_who_takes_an_input_back_has_no_nodes_there_any_more() -> None:
    new = OLD | {"ForceToken": "2"}
    moved = choose(B, SUBNETS[B], new, "hold-2").physical_id(before=ID)
    assert keeps(moved, new, OLD, undoing=False) is None


def test_only_the_way_back_needs_the_stack_s_state() -> None:
    def ask() -> bool:
        raise AssertionError("asked")

    new = OLD | {"ForceToken": "2"}
    assert kept(ID, OLD, OLD | {"Count": "3"}, parse(OLD), ask) is not None
    assert kept(ID, OLD, new, parse(new), ask) is None
    assert kept(ID, new, OLD, parse(OLD), ask) is not None


def test_an_id_that_this_code_did_not_write_asks_for_a_new_choice() -> None:
    assert keeps("us-east-2a", OLD, OLD) is None


def test_undoing_gives_back_the_whole_id_before() -> None:
    third = OLD | {"ForceToken": "3"}
    before = choose(B, SUBNETS[B], OLD | {"ForceToken": "2"}, "hold-2").physical_id(before=ID)
    moved = choose(A, SUBNETS[A], third, "hold-3").physical_id(before=before)
    undone = keeps(moved, third, OLD | {"ForceToken": "2"})
    assert undone is not None
    assert (undone.physical_id, undone.choice.hold) == (before, "hold-2")


def test_the_id_never_gets_longer_than_cloudformation_takes() -> None:
    long = Choice(zone="ap-southeast-99-lax-99a", subnet_id="subnet-0123456789abcdef0", digest=12 * "0", hold=12 * "0")
    physical_id, longest = "", 0
    for _ in range(40):
        physical_id = long.physical_id(before=physical_id)
        longest = max(longest, len(physical_id))
        assert physical_id.split(",")[1:2] in ([], [long.physical_id()])
    assert 900 < longest <= 1024


def test_an_update_of_the_code_that_digests_otherwise_moves_nobody() -> None:
    other = Choice(zone=A, subnet_id=SUBNETS[A], digest="of-old-code", hold="hold-1")
    new = OLD | {"Count": "3"}
    assert keeps(other.physical_id(), OLD, new) == Kept(choice=other, physical_id=other.physical_id(), undoes=False)


def test_a_request_has_one_hold_however_often_it_is_tried() -> None:
    assert hold_of("request-1") == hold_of("request-1") != hold_of("request-2")
