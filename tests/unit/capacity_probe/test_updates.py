"""Update and Delete."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import NOW, SUBNETS, TAGS, A, B, World, error
from .lines import lines
from .recording import Killed
from .sent import create, of_mode, properties, sweeper, update

# Update


@pytest.mark.failure_mode("C12")
@pytest.mark.parametrize("mode", ["probe", "offerings", "zone", "hold"])
def test_an_update_that_asks_for_nothing_keeps_everything_and_only_looks_for_leftovers(world: World, mode: str) -> None:
    old = of_mode(mode)
    made = on_event(create(**old), world.clients)
    world.forget_calls()
    answer = on_event(update(made["PhysicalResourceId"], old, old | {"QuotaFamilies": ["g"]}), world.clients)
    assert world.ec2.operations == ["DescribeCapacityReservations"]
    assert world.quotas.calls == world.groups.calls == world.stacks.calls == []
    assert world.clock.now - NOW < timedelta(seconds=5)
    assert answer["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert answer["Data"] == made["Data"] | {
        "Table": "us-east-2a: kept",
        "Reason": "kept: no input differs from those that chose this zone",
    }


@pytest.mark.failure_mode("C4")
@pytest.mark.parametrize(
    ("mode", "change", "looks"),
    [
        ("hold", {"Count": "1"}, 2),
        ("probe", {"Count": "1"}, 2),
        ("offerings", {"Count": "1"}, 1),
        ("zone", {"Count": "1"}, 1),
        ("hold", {"HoldMinutes": "90"}, 1),
    ],
)
def test_only_what_may_undo_an_update_that_reserves_waits_for_what_ec2_does_not_show_yet(
    world: World, mode: str, change: dict[str, str], looks: int
) -> None:
    """A smaller group may undo a larger one whose function died."""
    old = of_mode(mode)
    made = on_event(create(**old), world.clients)
    world.forget_calls()
    on_event(update(made["PhysicalResourceId"], old, old | change), world.clients)
    assert world.ec2.operations.count("DescribeCapacityReservations") == looks


def test_undoing_a_choice_looks_twice_in_a_mode_that_reserves_nothing_too(world: World) -> None:
    old = of_mode("offerings")
    made = on_event(create(**old), world.clients)
    world.forget_calls()
    on_event(update(made["PhysicalResourceId"], of_mode("probe", ForceToken="2"), old), world.clients)
    assert world.ec2.operations.count("DescribeCapacityReservations") == 2


def test_an_update_that_asks_for_nothing_does_not_fail(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.failures["DescribeCapacityReservations"] = error("InternalError", "DescribeCapacityReservations")
    answer = on_event(update(made["PhysicalResourceId"], properties(), properties(Count="1")), world.clients)
    assert answer["Data"]["AvailabilityZone"] == A


def test_a_changed_token_probes_again_and_remembers_where_it_was(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.no_room = {A: "InsufficientInstanceCapacity"}
    forced = update(made["PhysicalResourceId"], properties(), properties(ForceToken="2"))
    moved = on_event(forced, world.clients)
    assert moved["Data"]["AvailabilityZone"] == B
    assert moved["PhysicalResourceId"].endswith(f",{made['PhysicalResourceId']}")

    world.forget_calls()
    world.stacks.status = "UPDATE_ROLLBACK_IN_PROGRESS"
    undo = update(moved["PhysicalResourceId"], properties(ForceToken="2"), properties())
    back = on_event(undo, world.clients)
    assert back["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert back["Data"]["SubnetId"] == SUBNETS[A]
    assert set(world.ec2.operations) == {"DescribeCapacityReservations"}


def test_undoing_a_forced_update_that_found_no_room_does_not_fail_as_well(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.no_room = dict.fromkeys((A, B), "InsufficientInstanceCapacity")
    forced = update(made["PhysicalResourceId"], properties(), properties(ForceToken="2"))
    with pytest.raises(ProbeError, match="No zone of us-east-2 has room"):
        on_event(forced, world.clients)
    # The framework reports the failure under the id as it was.
    undo = update(made["PhysicalResourceId"], properties(ForceToken="2"), properties(), request_id="request-3")
    assert on_event(undo, world.clients)["PhysicalResourceId"] == made["PhysicalResourceId"]


def test_a_subnet_that_was_replaced_is_chosen_anew(world: World) -> None:
    made = on_event(create(), world.clients)
    subnets = SUBNETS | {A: "subnet-0aa"}
    answer = on_event(
        update(made["PhysicalResourceId"], properties(), properties(SubnetsByZone=subnets)), world.clients
    )
    assert answer["Data"]["SubnetId"] == "subnet-0aa"
    assert world.ec2.tried == [A, A]


def test_an_update_with_wrong_properties_is_refused_even_where_it_would_keep_the_zone(world: World) -> None:
    made = on_event(create(), world.clients)
    with pytest.raises(ProbeError, match="Count is '0'"):
        on_event(update(made["PhysicalResourceId"], properties(), properties(Count="0")), world.clients)


# Delete


ID = "us-east-2a/subnet-0a/digest/hold"


def delete(**changes: Any) -> dict[str, Any]:
    return create(**changes) | {"RequestType": "Delete", "PhysicalResourceId": ID}


def test_delete_cancels_what_carries_the_stack_s_tag(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        on_event(create(), world.clients)
    answer = on_event(delete(), world.clients)
    assert answer == {"PhysicalResourceId": ID}
    assert world.ec2.open_reservations == []


@pytest.mark.parametrize(
    "failure",
    [
        error("UnauthorizedOperation", "DescribeCapacityReservations"),
        ReadTimeoutError(endpoint_url="https://ec2.example"),
        ValueError("a bug"),
    ],
)
def test_delete_never_fails_and_says_so_in_the_log(
    world: World, failure: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ec2.failures["DescribeCapacityReservations"] = failure
    on_event(delete(), world.clients)
    assert [line["message"] for line in lines(capsys) if line["level"] == "error"] == [
        "could not cancel leftover reservations"
    ]


def test_delete_does_not_mind_properties_that_could_never_be_created(world: World) -> None:
    on_event(delete(Tags=None, Mode="unheard of"), world.clients)


def test_a_reservation_that_cannot_be_cancelled_does_not_keep_the_others(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    for _ in range(2):
        world.ec2.made.plant(A, Tags=tags)
    world.ec2.made.by_id = _refusing(world, world.ec2.reservations[0])  # type: ignore[method-assign] # one odd case
    on_event(sweeper("Delete"), world.clients)
    assert [r["State"] for r in world.ec2.reservations] == ["active", "cancelled"]
    assert "not-cancelled" in [line["message"] for line in lines(capsys)]


def _refusing(world: World, stuck: dict[str, Any]) -> Any:
    found = world.ec2.made.by_id

    def by_id(reservation_id: str, operation: str) -> dict[str, Any]:
        if reservation_id == stuck["CapacityReservationId"]:
            raise error("InternalError", operation)
        return found(reservation_id, operation)

    return by_id


# The sweeper


def test_the_sweeper_does_nothing_until_it_is_deleted(world: World) -> None:
    on_event(create(**of_mode("hold")), world.clients)
    world.forget_calls()
    made = on_event(sweeper("Create"), world.clients)
    assert made == on_event(sweeper("Update"), world.clients)
    assert made == {"PhysicalResourceId": "dev-Gpu/capacity-reservations"}
    assert world.tape.calls == []
    assert on_event(sweeper("Delete"), world.clients) == made
    assert world.ec2.open_reservations == []
