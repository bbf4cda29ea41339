"""An update to a larger group asks for the difference, in the zone of the nodes that run."""

from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import GROUP, A, B, World, error
from .reservations import cr
from .sent import OF_MODE, PLANTED, create, of_mode, update

MODES = tuple(OF_MODE)


def deployed(world: World, mode: str, nodes: int = 2, **changes: Any) -> str:
    """A stack of ``nodes`` nodes in zone a, all of them running."""
    if mode == "reservation":
        world.ec2.made.plant(A, CapacityReservationId=PLANTED, TotalInstanceCount=4, AvailableInstanceCount=4)
    made = on_event(create(**of_mode(mode, Count=str(nodes), **changes)), world.clients)["PhysicalResourceId"]
    run(world, nodes)
    world.forget_calls()
    return str(made)


def run(world: World, nodes: int) -> None:
    world.ec2.run(nodes, A, GROUP)


def grow(world: World, mode: str, physical_id: str, old: str, new: str, request_id: str = "request-2") -> Any:
    event = update(physical_id, of_mode(mode, Count=old), of_mode(mode, Count=new), request_id)
    return on_event(event, world.clients)


def asked(world: World) -> list[tuple[str, int]]:
    return [(p["AvailabilityZone"], p["InstanceCount"]) for p in world.ec2.parameters_of("CreateCapacityReservation")]


@pytest.mark.parametrize("mode", MODES)
def test_the_zone_and_the_id_stay(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.ec2.scores = {A: 1, B: 9}
    answer = grow(world, mode, physical_id, "2", "4")
    assert answer["PhysicalResourceId"] == physical_id
    assert answer["Data"]["AvailabilityZone"] == A


@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_the_difference_is_asked_for_and_nothing_else(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    answer = grow(world, mode, physical_id, "2", "4")
    assert asked(world) == [(A, 2)]
    assert answer["Data"]["Reason"] == "kept: 2 x g6.12xlarge more were asked for"
    assert world.ec2.open_reservations == ([cr(0), cr(1)] if mode == "hold" else [])


@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_where_the_nodes_are_parked_all_are_asked_for(world: World, mode: str) -> None:
    """The group starts as many as it is told, and nothing is left of what was found for the first of them."""
    physical_id = deployed(world, mode)
    world.clock.sleep(3 * 3600)
    world.ec2.instances = []
    grow(world, mode, physical_id, "2", "4")
    assert asked(world) == [(A, 4)]


def test_what_is_held_for_the_new_nodes_is_in_the_group_too(world: World) -> None:
    physical_id = deployed(world, "hold")
    answer = grow(world, "hold", physical_id, "2", "4")
    assert answer["Data"]["ReservationId"] == f"{cr(0)}, {cr(1)}"
    assert len(world.ec2.members) == 2


@pytest.mark.failure_mode("C17")
@pytest.mark.parametrize("mode", ["hold", "probe", "offerings", "zone"])
def test_the_nodes_that_run_count_against_the_quota_once(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.quotas.applied = 191.0
    with pytest.raises(ProbeError, match=r"2 x g6\.12xlarge need 96 vCPUs, .* is 191 and 96 are in use"):
        grow(world, mode, physical_id, "2", "4")
    world.quotas.applied = 192.0
    grow(world, mode, physical_id, "2", "4")


@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_no_room_for_more_leaves_the_nodes_that_run(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    world.ec2.made.room = {A: 1}
    held = world.ec2.open_reservations
    with pytest.raises(ProbeError) as caught:
        grow(world, mode, physical_id, "2", "4")
    assert str(caught.value) == (
        "us-east-2a has no room for 2 x g6.12xlarge more: no capacity (InsufficientInstanceCapacity). The nodes that "
        "run there stay. Deploy again later, or with gpu_nodes.count as it was; nodes in another zone need "
        "capacity.force_token, which replaces all of them."
    )
    assert caught.value.kind == "no-capacity"
    assert asked(world) == [(A, 2)]
    assert world.ec2.open_reservations == held


def test_more_than_ec2_s_own_count_allows(world: World) -> None:
    physical_id = deployed(world, "hold")
    world.ec2.no_room = {A: "InstanceLimitExceeded"}
    with pytest.raises(ProbeError, match=r"EC2 refused 2 x g6\.12xlarge with InstanceLimitExceeded: they need 96"):
        grow(world, "hold", physical_id, "2", "4")


@pytest.mark.parametrize("mode", MODES)
def test_undoing_a_failed_shrink_asks_for_no_node_that_still_runs(world: World, mode: str) -> None:
    physical_id = deployed(world, mode, nodes=4)
    grow(world, mode, physical_id, "4", "2")
    world.ec2.made.room = {A: 0}
    world.quotas.applied = 0.0 if mode == "reservation" else 192.0
    if mode == "reservation":
        world.ec2.reservations[0]["AvailableInstanceCount"] = 0
    world.forget_calls()
    answer = grow(world, mode, physical_id, "2", "4", "request-3")
    assert asked(world) == []
    assert answer["PhysicalResourceId"] == physical_id


@pytest.mark.parametrize("mode", ["hold", "probe"])
def test_a_node_that_is_missing_is_not_part_of_the_difference(world: World, mode: str) -> None:
    physical_id = deployed(world, mode)
    run(world, 1)
    grow(world, mode, physical_id, "2", "4")
    assert asked(world) == [(A, 2)]


@pytest.mark.parametrize("mode", MODES)
def test_undoing_a_new_choice_of_a_smaller_group_asks_for_nothing(world: World, mode: str) -> None:
    """Even where a node is missing: asking could fail, and the undoing with it."""
    physical_id = deployed(world, mode, nodes=4)
    run(world, 3)
    world.ec2.made.room, world.quotas.applied = {A: 0}, 0.0
    failed = of_mode(mode, Count="2", ForceToken="2")
    answer = on_event(update(physical_id, failed, of_mode(mode, Count="4"), "request-3"), world.clients)
    assert answer["PhysicalResourceId"] == physical_id
    assert asked(world) == []


def test_a_smaller_group_ends_the_hold_of_what_was_added_alone(world: World) -> None:
    physical_id = deployed(world, "hold")
    grow(world, "hold", physical_id, "2", "4")
    run(world, 4)
    grow(world, "hold", physical_id, "4", "2", "request-3")
    assert world.ec2.open_reservations == [cr(0)]


def test_growth_after_a_part_of_it_is_held_already_asks_for_the_rest(world: World) -> None:
    physical_id = deployed(world, "hold")
    grow(world, "hold", physical_id, "2", "4")
    grow(world, "hold", physical_id, "4", "3", "request-3")
    grow(world, "hold", physical_id, "3", "5", "request-4")
    assert asked(world) == [(A, 2), (A, 1)]


def test_a_growth_that_cannot_join_the_group_ends_what_it_made_and_nothing_else(world: World) -> None:
    physical_id = deployed(world, "hold")
    world.groups.failures["GroupResources"] = error("AccessDeniedException", "GroupResources")
    with pytest.raises(ProbeError, match="resource-groups:GroupResources"):
        grow(world, "hold", physical_id, "2", "4")
    assert world.ec2.open_reservations == [cr(0)]


@pytest.mark.parametrize("available", [1, 2])
def test_a_named_reservation_needs_room_for_the_difference(world: World, available: int) -> None:
    physical_id = deployed(world, "reservation")
    world.ec2.reservations[0]["AvailableInstanceCount"] = available
    if available == 2:
        answer = grow(world, "reservation", physical_id, "2", "4")
        assert answer["Data"]["Reason"] == f"kept: {PLANTED} has room for the nodes up to 4"
        return
    with pytest.raises(ProbeError, match=rf"{PLANTED} is full: 1 of 4 instances are free, expected 2\."):
        grow(world, "reservation", physical_id, "2", "4")
