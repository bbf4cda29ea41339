"""An update that chooses again knows the nodes that run: they need no room, and may be pinned to their zone."""

from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import current

from .fakes import GROUP, A, B, C, World, error
from .reservations import cr
from .sent import PLANTED, create, delete, of_mode, update

PLACEMENT = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


def deployed(world: World, mode: str, nodes: int = 2, **changes: Any) -> str:
    """A stack with two nodes, of which ``nodes`` run in zone a."""
    if mode == "reservation":
        world.ec2.made.plant(A, CapacityReservationId=PLANTED)
    target = {"hold": GROUP, "reservation": PLANTED}.get(mode)
    made = on_event(create(**of_mode(mode, **changes)), world.clients)["PhysicalResourceId"]
    world.ec2.run(nodes, A, target)
    world.forget_calls()
    return str(made)


def again(world: World, physical_id: str, old: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return on_event(update(physical_id, old, old | changes), world.clients)


@pytest.mark.failure_mode("C12")
@pytest.mark.parametrize("mode", ["hold", "probe", "offerings"])
def test_a_zone_that_is_not_used_is_excluded_without_a_question_about_capacity(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.ec2.scores, world.quotas.applied = {A: 1, B: 9}, 0.0
    answer = again(world, physical_id, of_mode(mode), ExcludeZones=[B])
    assert answer["Data"]["AvailabilityZone"] == A
    assert answer["Data"]["Table"] == "us-east-2a: chosen (the nodes run there)"
    assert world.ec2.tried == []
    held = f", and EC2 holds {cr(0)} for them" if mode == "hold" else ""
    assert answer["Data"]["Reason"] == f"2 x g6.12xlarge run in us-east-2a already{held}"
    assert answer["Data"]["ReservationId"] == (cr(0) if mode == "hold" else "none")


def test_the_hold_goes_on_after_the_old_id_is_deleted_and_ends_with_the_new_one(world: World) -> None:
    old = of_mode("hold")
    before = deployed(world, "hold")
    after = again(world, before, old, ExcludeZones=[B])["PhysicalResourceId"]
    on_event(delete(before, old), world.clients)
    assert world.ec2.open_reservations == [cr(0)]
    world.ec2.run(0, A)
    on_event(delete(after, old | {"ExcludeZones": [B]}), world.clients)
    assert world.ec2.open_reservations == []


@pytest.mark.parametrize("mode", ["hold", "probe", "zone"])
def test_a_token_counts_the_nodes_of_their_zone_against_the_quota_once(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.quotas.applied = 96.0
    answer = again(world, physical_id, of_mode(mode), ForceToken="2")
    assert answer["Data"]["AvailabilityZone"] == A
    assert world.ec2.tried == []


def test_a_token_may_move_the_nodes_to_a_zone_with_room_for_all_of_them(world: World) -> None:
    physical_id = deployed(world, "hold")
    world.ec2.scores = {A: 3, B: 9}
    answer = again(world, physical_id, of_mode("hold"), ForceToken="2")
    assert answer["Data"]["AvailabilityZone"] == B
    assert [p["InstanceCount"] for p in world.ec2.parameters_of("CreateCapacityReservation")] == [2]


@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_only_the_node_that_is_missing_is_asked_for(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.clock.sleep(3 * 3600)
    world.ec2.run(1, A, GROUP)
    answer = again(world, physical_id, of_mode(mode), ExcludeZones=[B])
    asked = [(p["AvailabilityZone"], p["InstanceCount"]) for p in world.ec2.parameters_of("CreateCapacityReservation")]
    # The node that runs moves into what is reserved in mode hold, and so it is reserved once more.
    assert asked == ([(A, 1)] * 2 if mode == "hold" else [(A, 1)])
    if mode == "hold":
        assert answer["Data"]["Reason"] == (
            f"1 of 2 x g6.12xlarge run in us-east-2a already, and EC2 holds {cr(1)}, {cr(2)} for them; running nodes "
            "took 1 of them, which were reserved again"
        )
        on_event(delete(physical_id, of_mode(mode)), world.clients)
        assert world.ec2.open_reservations == [cr(1), cr(2)]


def test_another_type_has_no_nodes_yet(world: World) -> None:
    physical_id = deployed(world, "hold")
    world.ec2.offered = [A, B]
    with pytest.raises(ProbeError, match=r"2 x g6\.24xlarge need 192 vCPUs"):
        world.quotas.applied = 96.0
        again(world, physical_id, of_mode("hold"), InstanceType="g6.24xlarge", VcpusPerInstance="96")


def test_another_placement_group_has_no_nodes_yet(world: World) -> None:
    physical_id = deployed(world, "hold")
    answer = again(world, physical_id, of_mode("hold"), PlacementGroupArn=PLACEMENT)
    assert [p["PlacementGroupArn"] for p in world.ec2.parameters_of("CreateCapacityReservation")] == [PLACEMENT]
    new = current(answer["PhysicalResourceId"])
    assert new is not None and new.hold != physical_id.split("/")[3]


# Mode reservation


def test_a_reservation_is_not_full_of_its_own_nodes(world: World) -> None:
    physical_id = deployed(world, "reservation")
    answer = again(world, physical_id, of_mode("reservation"), ForceToken="2")
    assert answer["Data"]["Reason"] == (
        f"capacity reservation {PLANTED} has 0 x g6.12xlarge free; 2 of the group's nodes run in it"
    )


def test_nodes_outside_a_reservation_need_room_in_it(world: World) -> None:
    physical_id = deployed(world, "reservation")
    other = "cr-0fedcba9876543210"
    world.ec2.made.plant(A, CapacityReservationId=other, TotalInstanceCount=2, AvailableInstanceCount=1)
    with pytest.raises(ProbeError, match=rf"{other} is full: 1 of 2 instances are free, expected 2\."):
        again(world, physical_id, of_mode("reservation"), ReservationId=other)


def test_another_kind_of_reservation_is_looked_at_again(world: World) -> None:
    physical_id = deployed(world, "reservation")
    with pytest.raises(ProbeError, match="is an On-Demand reservation"):
        again(world, physical_id, of_mode("reservation"), ReservationType="capacity-block")


# A placement group is in one zone


@pytest.mark.failure_mode("A8")
@pytest.mark.parametrize("mode", ["hold", "probe", "offerings"])
def test_the_nodes_of_a_placement_group_stay_in_their_zone(world: World, mode: str) -> None:
    physical_id = deployed(world, mode, PlacementGroupArn=PLACEMENT)
    world.ec2.scores = {A: 1, B: 9}
    answer = again(world, physical_id, of_mode(mode, PlacementGroupArn=PLACEMENT), ForceToken="2")
    assert answer["Data"]["AvailabilityZone"] == A
    assert answer["Data"]["Table"] == (
        "us-east-2a: chosen (score 1); us-east-2b: the placement group's nodes run in us-east-2a"
    )


DESTROY = (
    "The placement group's nodes run in us-east-2a; destroy Gpu first: a cluster placement group is in one zone, and "
    "new nodes would start before the old ones end. "
)


def test_excluding_the_zone_of_a_placement_group_says_what_to_do(world: World) -> None:
    physical_id = deployed(world, "hold", PlacementGroupArn=PLACEMENT)
    with pytest.raises(ProbeError) as caught:
        again(world, physical_id, of_mode("hold", PlacementGroupArn=PLACEMENT), ExcludeZones=[A])
    assert str(caught.value) == (
        DESTROY + "us-east-2b: the placement group's nodes run in us-east-2a; us-east-2a: excluded by the settings."
    )
    assert world.ec2.tried == []


def test_naming_another_zone_for_a_placement_group_says_what_to_do(world: World) -> None:
    physical_id = deployed(world, "zone", PlacementGroupArn=PLACEMENT)
    with pytest.raises(ProbeError) as caught:
        again(world, physical_id, of_mode("zone", PlacementGroupArn=PLACEMENT), Zone=B)
    assert str(caught.value) == DESTROY + "us-east-2b was asked for."


def test_a_placement_group_without_nodes_may_be_anywhere(world: World) -> None:
    physical_id = deployed(world, "hold", nodes=0, PlacementGroupArn=PLACEMENT)
    answer = again(world, physical_id, of_mode("hold", PlacementGroupArn=PLACEMENT), ExcludeZones=[A])
    assert answer["Data"]["AvailabilityZone"] == B


def test_nodes_that_cannot_be_read_are_an_error_before_anything_is_reserved(world: World) -> None:
    physical_id = deployed(world, "hold")
    world.ec2.failures["DescribeInstances"] = error("UnauthorizedOperation", "DescribeInstances")
    with pytest.raises(ProbeError, match="may not call ec2:DescribeInstances"):
        again(world, physical_id, of_mode("hold"), ForceToken="2")
    assert world.ec2.tried == []


def test_a_zone_that_is_no_candidate_any_more_is_left(world: World) -> None:
    world.ec2.offered = [A, B, C]
    physical_id = deployed(world, "offerings")
    answer = again(world, physical_id, of_mode("offerings"), SubnetsByZone={C: "subnet-0c"})
    assert answer["Data"]["AvailabilityZone"] == C
