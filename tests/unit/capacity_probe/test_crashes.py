"""What is left when a function dies, and what the next try makes of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from botocore.exceptions import ReadTimeoutError

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import client_token

from .fakes import A, World
from .recording import Killed
from .reservations import cr
from .sent import create


@pytest.mark.failure_mode("C4")
def test_a_retry_after_a_crash_cancels_what_was_left_and_proves_afresh(world: World) -> None:
    world.ec2.failures["CancelCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        on_event(create(), world.clients)
    assert world.ec2.open_reservations == [cr(0)]

    del world.ec2.failures["CancelCapacityReservation"]
    world.forget_calls()
    assert on_event(create(), world.clients)["Data"]["AvailabilityZone"] == A
    assert world.ec2.operations[:2] == ["DescribeCapacityReservations", "CancelCapacityReservation"]
    assert world.ec2.parameters_of("CancelCapacityReservation") == [
        {"CapacityReservationId": cr(0)},
        {"CapacityReservationId": cr(1)},
    ]
    assert [r["State"] for r in world.ec2.reservations] == ["cancelled", "cancelled"]


def test_the_next_deploy_cancels_what_a_crashed_one_left(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        on_event(create("request-1"), world.clients)
    del world.ec2.failures["after CreateCapacityReservation"]
    on_event(create("request-9"), world.clients)
    assert world.ec2.open_reservations == []
    assert world.ec2.parameters_of("CreateCapacityReservation")[-1]["ClientToken"] == client_token("request-9", A, 0)


def test_what_has_ended_is_not_cancelled_again(world: World) -> None:
    on_event(create("request-1"), world.clients)
    on_event(create("request-2"), world.clients)
    cancelled = [p["CapacityReservationId"] for p in world.ec2.parameters_of("CancelCapacityReservation")]
    assert cancelled == [cr(0), cr(1)]


def test_another_stack_s_reservation_is_left_alone(world: World) -> None:
    on_event(create(), world.clients)
    world.ec2.reservations[0] |= {"State": "active", "Tags": [{"Key": "eks-ray-train:stack", "Value": "prod-Gpu"}]}
    on_event(create("request-2"), world.clients)
    assert world.ec2.open_reservations == [cr(0)]


def test_a_reservation_that_the_search_did_not_show_yet_is_taken_for_the_proof_and_not_doubled(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        on_event(create(), world.clients)
    del world.ec2.failures["after CreateCapacityReservation"]
    world.ec2.made.shown_after = timedelta(seconds=40)
    world.clock.sleep(30)  # so the end date, and with it the request, differs: EC2 refuses the token

    on_event(create(), world.clients)
    assert [r["State"] for r in world.ec2.reservations] == ["cancelled"]
    assert len(world.ec2.tried) == 2


def test_a_reservation_that_never_shows_is_not_doubled(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Killed()
    with pytest.raises(Killed):
        on_event(create(), world.clients)
    del world.ec2.failures["after CreateCapacityReservation"]
    world.ec2.made.shown_after = timedelta(hours=1)
    world.clock.sleep(30)
    with pytest.raises(ProbeError) as caught:
        on_event(create(), world.clients)
    assert str(caught.value) == (
        "An earlier try of this request reserved 2 x g6.12xlarge in us-east-2a, and EC2 does not show it yet. A second "
        "one is not made beside it. Deploy again; the next deploy, or deleting the stack, cancels it in us-east-2."
    )
    assert len(world.ec2.reservations) == 1


def test_an_answer_from_an_earlier_try_is_no_proof(world: World) -> None:
    on_event(create(), world.clients)
    world.ec2.made.shown_after = timedelta(
        hours=1
    )  # same request, same second: the token is answered with the cancelled reservation
    on_event(create(), world.clients)
    tokens = [p["ClientToken"] for p in world.ec2.parameters_of("CreateCapacityReservation")]
    assert tokens == [client_token("request-1", A, n) for n in (0, 0, 1)]
    assert world.ec2.open_reservations == []


def test_a_reservation_whose_answer_never_came_is_looked_for_and_cancelled(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = ReadTimeoutError(endpoint_url="https://ec2.example")
    with pytest.raises(ProbeError, match="AWS did not answer in us-east-2: Read timeout"):
        on_event(create(), world.clients)
    assert world.ec2.reservations[0]["State"] == "cancelled"


def test_a_reservation_is_cancelled_when_waiting_for_it_fails(world: World) -> None:
    world.ec2.made.new_states = ["pending", "active"]

    def fail(seconds: float) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        on_event(create(), replace(world.clients, sleep=fail))
    assert world.ec2.open_reservations == []


def test_the_search_stops_while_there_is_time_to_cancel(world: World) -> None:
    world.ec2.no_room = {A: "InsufficientInstanceCapacity"}
    left = iter([90_000, 89_999])
    world.remaining = lambda: next(left)
    with pytest.raises(ProbeError) as caught:
        on_event(create(), world.clients)
    assert str(caught.value) == (
        "Out of time: 89 s are left, and 90 s are kept for making a reservation and cancelling it. So far: "
        "us-east-2a: no capacity (InsufficientInstanceCapacity); us-east-2b: not tried (score unknown). Deploy again."
    )
    assert world.ec2.tried == [A]
