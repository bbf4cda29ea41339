"""Updates of what mode hold holds: its end, its size, another mode, and the way back."""

from datetime import timedelta
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import hold_of

from .fakes import GROUP, NOW, A, B, World, error
from .lines import lines
from .reservations import cr
from .sent import create, delete, of_mode, update

HOLD = of_mode("hold")


def made_in(world: World, **changes: Any) -> dict[str, Any]:
    return on_event(create(**(HOLD | changes)), world.clients)


def test_a_longer_hold_moves_the_end_date(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    answer = on_event(update(held, HOLD, HOLD | {"HoldMinutes": "120"}), world.clients)
    assert world.ec2.reservations[0]["EndDate"] == NOW.replace(microsecond=0) + timedelta(minutes=120)
    assert answer["Data"]["Reason"] == "kept: held for 120 minutes from when it was reserved"
    assert len(world.ec2.reservations) == 1


def test_a_shorter_hold_ends_in_some_minutes_at_the_earliest(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.clock.sleep(50 * 60)
    on_event(update(held, HOLD, HOLD | {"HoldMinutes": "15"}), world.clients)
    assert world.ec2.reservations[0]["EndDate"] - world.clock.now > timedelta(minutes=4)


def test_a_longer_hold_after_the_end_says_that_nothing_is_held(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.clock.sleep(3 * 3600)
    answer = on_event(update(held, HOLD, HOLD | {"HoldMinutes": "120"}), world.clients)
    assert answer["Data"]["Reason"] == (
        "kept: the new hold time is for what is held next; nothing is held for these nodes"
    )
    assert answer["Data"]["ReservationId"] == "none"


@pytest.mark.parametrize("minutes", ["30", "120"])
def test_an_end_date_that_cannot_be_moved_fails_no_update(
    world: World, minutes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.ec2.failures["ModifyCapacityReservation"] = error("InternalError", "ModifyCapacityReservation")
    answer = on_event(update(held, HOLD, HOLD | {"HoldMinutes": minutes}), world.clients)
    assert answer["Data"]["Reason"] == (
        f"kept: {cr(0)} still ends 13:00 UTC: EC2 refused ModifyCapacityReservation in us-east-2: InternalError: "
        "EC2's words."
    )
    assert (answer["PhysicalResourceId"], answer["Data"]["ReservationId"]) == (held, cr(0))
    assert ("error", "refused") in [(line["level"], line["message"]) for line in lines(capsys)]


def test_one_end_date_that_cannot_be_moved_does_not_keep_the_others(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.ec2.run(2, A, GROUP)
    larger = HOLD | {"Count": "3"}
    on_event(update(held, HOLD, larger), world.clients)
    world.ec2.reservations[0]["State"] = "pending"  # which a search took for active a moment ago
    original = world.ec2.made.modify

    def modify(given: dict[str, Any]) -> dict[str, Any]:
        if given["CapacityReservationId"] == cr(0):
            raise error("InvalidParameterValue", "ModifyCapacityReservation")
        return original(given)

    world.ec2.made.modify = modify  # type: ignore[method-assign] # one odd case
    on_event(update(held, larger, larger | {"HoldMinutes": "120"}, "request-3"), world.clients)
    assert world.ec2.reservations[1]["EndDate"] - NOW > timedelta(minutes=119)


def test_a_smaller_group_says_what_its_hold_leaves_empty_and_keeps_it_for_an_undoing(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.ec2.run(2, A, GROUP)
    answer = on_event(update(held, HOLD, HOLD | {"Count": "1"}), world.clients)
    assert answer["Data"]["Reason"] == (
        f"kept: no input differs from those that chose this zone; {cr(0)} has 1 more than the group, which bill from "
        "the end of their nodes until 13:00 UTC; to end that then: aws ec2 modify-capacity-reservation "
        f"--capacity-reservation-id {cr(0)} --instance-count 1 --region us-east-2"
    )
    assert world.ec2.operations.count("ModifyCapacityReservation") == 0
    undone = on_event(update(held, HOLD | {"Count": "1"}, HOLD, "request-3"), world.clients)
    assert undone["Data"]["ReservationId"] == cr(0)
    assert world.ec2.tried == [A]


def test_what_somebody_made_smaller_has_room_for_fewer(world: World) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.ec2.run(1, A, GROUP)
    world.ec2.reservations[0] |= {"TotalInstanceCount": 1, "AvailableInstanceCount": 0}
    on_event(update(held, HOLD | {"Count": "1"}, HOLD), world.clients)
    assert [p["InstanceCount"] for p in world.ec2.parameters_of("CreateCapacityReservation")] == [2, 1]


@pytest.mark.failure_mode("C4")
@pytest.mark.parametrize("mode", ["probe", "offerings", "zone"])
def test_leaving_hold_gives_back_what_nothing_will_start_in(world: World, mode: str) -> None:
    held = made_in(world)["PhysicalResourceId"]
    world.ec2.run(2, A, GROUP)
    answer = on_event(update(held, HOLD, of_mode(mode)), world.clients)
    assert (answer["PhysicalResourceId"], answer["Data"]["ReservationId"]) == (held, "none")
    assert world.ec2.open_reservations == []


def test_changing_to_hold_says_that_the_nodes_are_not_held(world: World) -> None:
    probing = of_mode("probe")
    made = on_event(create(**probing), world.clients)["PhysicalResourceId"]
    answer = on_event(update(made, probing, HOLD), world.clients)
    assert answer["Data"]["Reason"] == (
        "kept: no input differs from those that chose this zone; nothing is held for these nodes"
    )
    assert answer["Data"]["ReservationId"] == "none"


@pytest.mark.failure_mode("C12")
def test_a_user_who_takes_the_token_back_gets_what_a_new_choice_gets(world: World) -> None:
    before = made_in(world)["PhysicalResourceId"]
    forced = HOLD | {"ForceToken": "2"}
    world.ec2.made.room = {A: 0}
    moved = on_event(update(before, HOLD, forced), world.clients)["PhysicalResourceId"]
    world.ec2.run(2, B, GROUP)
    on_event(delete(before, HOLD), world.clients)

    world.ec2.made.room = {}
    back = on_event(update(moved, forced, HOLD, "request-3"), world.clients)
    assert back["Data"]["AvailabilityZone"] == A
    assert back["Data"]["ReservationId"] == cr(2)
    assert back["PhysicalResourceId"].endswith(f"/{hold_of('request-3')},{moved}")

    world.stacks.status = "UPDATE_ROLLBACK_IN_PROGRESS"
    world.ec2.made.room = {A: 0, B: 0}
    undone = on_event(update(back["PhysicalResourceId"], HOLD, forced, "request-4"), world.clients)
    assert (undone["PhysicalResourceId"], undone["Data"]["ReservationId"]) == (moved, cr(1))


def test_a_stack_whose_state_cannot_be_read_is_taken_for_one_that_is_undone(world: World) -> None:
    before = made_in(world)["PhysicalResourceId"]
    forced = HOLD | {"ForceToken": "2"}
    moved = on_event(update(before, HOLD, forced), world.clients)["PhysicalResourceId"]
    world.stacks.failures["DescribeStacks"] = error("AccessDenied", "DescribeStacks")
    back = on_event(update(moved, forced, HOLD, "request-3"), world.clients)
    assert back["PhysicalResourceId"] == before
