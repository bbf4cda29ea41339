"""Mode hold: what is reserved stays, as a member of the group that the nodes are launched into."""

from datetime import timedelta
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import hold_of

from .fakes import GROUP, NOW, A, B, World, error
from .recording import Killed
from .reservations import cr
from .sent import create, delete, of_mode, update

HOLD = of_mode("hold")
PLACEMENT = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


def made_in(world: World, **changes: Any) -> dict[str, Any]:
    return on_event(create(**(HOLD | changes)), world.clients)


@pytest.mark.failure_mode("C5")
def test_the_reservation_stays_and_is_in_the_group_when_the_answer_comes(world: World) -> None:
    world.groups.seen_after = timedelta(seconds=9)
    answer = made_in(world)
    assert world.ec2.open_reservations == [cr(0)]
    assert world.groups.parameters_of("GroupResources") == [
        {"Group": GROUP, "ResourceArns": ["arn:aws:ec2:us-east-2:111111111111:capacity-reservation/" + cr(0)]}
    ]
    (since,) = world.ec2.members["arn:aws:ec2:us-east-2:111111111111:capacity-reservation/" + cr(0)].values()
    assert since <= world.clock.now
    assert answer["Data"] == {
        "AvailabilityZone": A,
        "SubnetId": "subnet-0a",
        "ReservationId": cr(0),
        "Table": "us-east-2a: chosen (score unknown); us-east-2b: not tried (score unknown)",
        "Reason": f"EC2 holds 2 x g6.12xlarge in us-east-2a as {cr(0)}, at least until 13:00 UTC",
    }


@pytest.mark.failure_mode("A8")
@pytest.mark.failure_mode("C9")
def test_what_is_asked_for(world: World) -> None:
    made_in(world, HoldMinutes="90", PlacementGroupArn=PLACEMENT)
    (asked,) = world.ec2.parameters_of("CreateCapacityReservation")
    assert asked["EndDateType"] == "limited"
    assert asked["EndDate"] == NOW.replace(microsecond=0) + timedelta(minutes=90)
    assert (asked["InstanceMatchCriteria"], asked["PlacementGroupArn"]) == ("targeted", PLACEMENT)
    assert {tag["Key"]: tag["Value"] for tag in asked["TagSpecifications"][0]["Tags"]} == {
        "eks-ray-train:stack": "dev-Gpu",
        "eks-ray-train:request": "request-1",
        "eks-ray-train:hold": hold_of("request-1"),
        "eks-ray-train:nodes": "1-2",
    }


def test_a_zone_without_room_is_passed_over(world: World) -> None:
    world.ec2.made.room = {A: 1}
    answer = made_in(world)
    assert answer["Data"]["Table"] == (
        "us-east-2a: no capacity (InsufficientInstanceCapacity); us-east-2b: chosen (score unknown)"
    )
    assert [r["AvailabilityZone"] for r in world.ec2.made.open] == [B]


def test_only_an_active_reservation_holds(world: World) -> None:
    world.ec2.made.new_states = ["pending"]
    with pytest.raises(ProbeError, match=r"us-east-2a: no capacity \(reservation pending\); us-east-2b: no capacity"):
        made_in(world)
    assert world.ec2.open_reservations == []


def test_resource_groups_that_do_not_know_the_reservation_yet_are_asked_again(world: World) -> None:
    world.groups.refused = ["RESOURCE_NOT_FOUND", "RESOURCE_NOT_FOUND"]
    made_in(world)
    assert world.groups.operations == ["GroupResources"] * 3
    assert world.ec2.open_reservations == [cr(0)]


@pytest.mark.parametrize(
    ("refused", "said"),
    [([], "EC2 does not show it there yet"), (["FORBIDDEN"] * 1000, "FORBIDDEN: Its words.")],
)
def test_running_out_of_time_cancels_and_says_where(world: World, refused: list[str], said: str) -> None:
    world.groups.seen_after, world.groups.refused = timedelta(hours=1), refused
    world.remaining = lambda: 300_000 - int((world.clock.now - NOW).total_seconds() * 1000)
    with pytest.raises(ProbeError) as caught:
        made_in(world)
    assert str(caught.value) == (
        f"Out of time: {cr(0)} was reserved in us-east-2a and cancelled again, because EC2 in us-east-2 did not show "
        f"it in the stack's resource group: {said}. Deploy again."
    )
    assert caught.value.kind == "out-of-time"
    assert world.ec2.open_reservations == []
    assert world.remaining() >= 60_000, "no time left to cancel in"


def test_a_group_that_may_not_be_changed_leaves_nothing_behind(world: World) -> None:
    world.groups.failures["GroupResources"] = error("AccessDeniedException", "GroupResources")
    with pytest.raises(ProbeError, match="resource-groups:GroupResources"):
        made_in(world)
    assert world.ec2.open_reservations == []


@pytest.mark.failure_mode("C4")
def test_what_an_earlier_try_reserved_elsewhere_is_cancelled_once_it_shows(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        made_in(world)
    del world.ec2.failures["after CreateCapacityReservation"]
    world.ec2.made.shown_after = timedelta(seconds=5)
    world.groups.seen_after = timedelta(seconds=9)
    world.ec2.scores = {A: 2, B: 9}  # so the next try begins in zone b
    made_in(world)
    assert [(r["AvailabilityZone"], r["State"]) for r in world.ec2.reservations] == [(A, "cancelled"), (B, "active")]


def test_a_new_choice_keeps_the_hold_of_the_nodes_that_run_until_their_id_is_deleted(world: World) -> None:
    before = made_in(world)["PhysicalResourceId"]
    world.ec2.made.room = {A: 0}
    forced = HOLD | {"ForceToken": "2"}
    moved = on_event(update(before, HOLD, forced), world.clients)["PhysicalResourceId"]
    assert world.ec2.open_reservations == [cr(0), cr(1)]
    on_event(delete(before, HOLD), world.clients)
    assert world.ec2.open_reservations == [cr(1)]
    on_event(delete(moved, forced), world.clients)
    assert world.ec2.open_reservations == []


def test_undoing_a_new_choice_ends_its_hold_and_not_the_one_before(world: World) -> None:
    before = made_in(world)["PhysicalResourceId"]
    forced = HOLD | {"ForceToken": "2"}
    moved = on_event(update(before, HOLD, forced), world.clients)["PhysicalResourceId"]
    world.stacks.status = "UPDATE_ROLLBACK_IN_PROGRESS"
    back = on_event(update(moved, forced, HOLD, "request-3"), world.clients)
    assert (back["PhysicalResourceId"], back["Data"]["ReservationId"]) == (before, cr(0))
    on_event(delete(moved, forced), world.clients)
    assert world.ec2.open_reservations == [cr(0)]


def test_a_probe_of_the_same_stack_leaves_the_hold_in_force_alone(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    probing = of_mode("probe", ForceToken="2")
    on_event(update(held, HOLD, probing), world.clients)
    assert world.ec2.open_reservations == [cr(0)]
