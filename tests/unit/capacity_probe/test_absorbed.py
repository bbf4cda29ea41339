"""After the end of a hold, the nodes that run move into what is reserved for new ones, as EC2 has it."""

from datetime import timedelta
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import GROUP, NOW, A, World
from .reservations import cr
from .sent import create, of_mode, update

HOUR = timedelta(hours=1)


def grown(world: World, nodes: int, to: int) -> dict[str, Any]:
    """The answer to a growth, three hours after ``nodes`` nodes started in what was held for them."""
    old = of_mode("hold", Count=str(nodes))
    physical_id = on_event(create(**old), world.clients)["PhysicalResourceId"]
    world.ec2.run(nodes, A, GROUP)
    world.clock.sleep(3 * HOUR.total_seconds())
    world.forget_calls()
    return on_event(update(physical_id, old, old | {"Count": str(to)}), world.clients)


def asked(world: World) -> list[tuple[int, str]]:
    """How many instances each reservation is for, and which nodes."""
    sent = world.ec2.parameters_of("CreateCapacityReservation")
    tags = [{tag["Key"]: tag["Value"] for tag in p["TagSpecifications"][0]["Tags"]} for p in sent]
    return [(p["InstanceCount"], t["eks-ray-train:nodes"]) for p, t in zip(sent, tags, strict=True)]


def free(world: World) -> int:
    return sum(r["AvailableInstanceCount"] for r in world.ec2.made.open)


@pytest.fixture
def world() -> World:
    world = World()
    world.quotas.applied = 4800.0
    return world


@pytest.mark.failure_mode("C5")
@pytest.mark.parametrize("seconds", [0, 4, 9])
def test_what_running_nodes_take_is_reserved_once_more(world: World, seconds: int) -> None:
    world.ec2.moved_after = timedelta(seconds=seconds)
    answer = grown(world, 2, 4)
    assert asked(world) == [(2, "3-4"), (2, "3-4/1")]
    assert answer["Data"]["Reason"] == (
        "kept: 2 x g6.12xlarge more were asked for; running nodes took 2 of them, which were reserved again"
    )
    assert answer["Data"]["ReservationId"] == f"{cr(1)}, {cr(2)}"
    assert free(world) == 2


def test_fewer_nodes_take_less(world: World) -> None:
    grown(world, 1, 4)
    assert asked(world) == [(3, "2-4"), (1, "2-4/1")]
    assert free(world) == 3


def test_more_nodes_take_more(world: World) -> None:
    answer = grown(world, 4, 6)
    assert asked(world) == [(2, "5-6"), (2, "5-6/1"), (2, "5-6/2")]
    assert free(world) == 2
    assert answer["Data"]["Reason"].endswith("; running nodes took 4 of them, which were reserved again")


def test_after_two_more_reservations_the_rest_is_said(world: World) -> None:
    answer = grown(world, 9, 11)
    assert [count for count, _ in asked(world)] == [2, 2, 2]
    assert answer["Data"]["Reason"].endswith("; 2 new nodes start unheld, for running nodes took more")


def test_nodes_that_are_held_take_nothing_and_nothing_is_waited_for(world: World) -> None:
    old = of_mode("hold")
    physical_id = on_event(create(**old), world.clients)["PhysicalResourceId"]
    world.ec2.run(2, A, GROUP)
    before = world.clock.now
    on_event(update(physical_id, old, old | {"Count": "4"}), world.clients)
    assert [count for count, _ in asked(world)] == [2, 2]
    assert world.clock.now == before


def test_nodes_that_do_not_move_cost_some_seconds_and_no_reservation(world: World) -> None:
    world.ec2.moved_after = HOUR
    grown(world, 2, 4)
    assert asked(world) == [(2, "3-4")]
    assert timedelta(seconds=8) < world.clock.now - NOW - 3 * HOUR < timedelta(seconds=30)


def test_no_room_for_a_second_time_fails_the_growth(world: World) -> None:
    world.ec2.made.room = {A: 4}
    with pytest.raises(ProbeError, match="running nodes took what was reserved, and then no capacity"):
        grown(world, 2, 4)
