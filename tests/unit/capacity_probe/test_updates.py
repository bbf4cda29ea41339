"""Update and Delete."""

from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import SUBNETS, A, B, Crash, World, create, error, properties, update
from .lines import lines

# Update


@pytest.mark.parametrize("mode", [{"Mode": "probe"}, {"Mode": "zone", "Zone": A}])
def test_a_changed_count_keeps_everything_and_asks_aws_nothing(world: World, mode: dict[str, str]) -> None:
    old = properties(**mode)
    made = on_event(create(**mode), world.clients)
    world = World()
    answer = on_event(update(made["PhysicalResourceId"], old, old | {"Count": "4"}), world.clients)
    assert world.ec2.calls == world.quotas.calls == []
    assert answer["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert answer["Data"] == {
        "AvailabilityZone": A,
        "SubnetId": SUBNETS[A],
        "Table": "us-east-2a: kept",
        "Reason": "kept: no input differs from those that chose this zone",
    }
    assert answer["Data"].keys() == made["Data"].keys()


def test_a_changed_token_probes_again_and_remembers_where_it_was(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.no_room = {A: "InsufficientInstanceCapacity"}
    forced = update(made["PhysicalResourceId"], properties(), properties(ForceToken="2"))
    moved = on_event(forced, world.clients)
    assert moved["Data"]["AvailabilityZone"] == B
    assert moved["PhysicalResourceId"].endswith(f",{made['PhysicalResourceId']}")

    world.ec2.calls.clear()
    undo = update(moved["PhysicalResourceId"], properties(ForceToken="2"), properties())
    back = on_event(undo, world.clients)
    assert back["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert back["Data"]["SubnetId"] == SUBNETS[A]
    assert world.ec2.calls == []


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


def delete(**changes: Any) -> dict[str, Any]:
    return create(**changes) | {"RequestType": "Delete", "PhysicalResourceId": "us-east-2a/subnet-0a/digest"}


def test_delete_cancels_what_carries_the_stack_s_tag(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Crash()
    with pytest.raises(Crash):
        on_event(create(), world.clients)
    answer = on_event(delete(), world.clients)
    assert answer == {"PhysicalResourceId": "us-east-2a/subnet-0a/digest"}
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
