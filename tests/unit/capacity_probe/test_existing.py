"""Mode reservation: what exists is read, and refused when nodes could not start in it."""

from datetime import timedelta
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import NOW, A, B, C, World, error
from .sent import PLANTED, create, of_mode


def chosen(world: World, reservation: dict[str, Any], **changes: Any) -> dict[str, Any]:
    world.ec2.made.plant(**({"zone": A, "CapacityReservationId": PLANTED} | reservation))
    return on_event(create(**of_mode("reservation", **changes)), world.clients)


def test_its_zone_is_taken_and_nothing_is_made_or_cancelled(world: World) -> None:
    answer = chosen(world, {"zone": B})
    assert answer["Data"] == {
        "AvailabilityZone": B,
        "SubnetId": "subnet-0b",
        "ReservationId": PLANTED,
        "Table": f"us-east-2b: chosen ({PLANTED})",
        "Reason": f"capacity reservation {PLANTED} has 2 x g6.12xlarge free",
    }
    assert set(world.ec2.operations) == {"DescribeCapacityReservations"}


def test_a_capacity_block(world: World) -> None:
    end = NOW + timedelta(days=1)
    block = {"ReservationType": "capacity-block", "EndDateType": "limited", "EndDate": end}
    answer = chosen(world, block, ReservationType="capacity-block")
    assert answer["Data"]["Reason"] == (
        f"Capacity Block {PLANTED} has 2 x g6.12xlarge free; it ends 2026-11-30 12:00 UTC"
    )


def test_what_may_take_it_away_is_said(world: World) -> None:
    answer = chosen(world, {"OwnerId": "222222222222", "InstanceMatchCriteria": "open"})
    assert answer["Data"]["Reason"] == (
        f"capacity reservation {PLANTED} has 2 x g6.12xlarge free; account 222222222222 owns it and may end it; it is "
        "open, so any instance of the account that matches may take its room"
    )


ANOTHER = "Nodes start in a reservation only when all attributes match: name another one, or change the settings."


@pytest.mark.parametrize(
    ("reservation", "changes", "text"),
    [
        (
            {"ReservationType": "capacity-block"},
            {},
            f'{PLANTED} is a Capacity Block: set capacity.reservation_type = "capacity-block" and deploy again.',
        ),
        (
            {},
            {"ReservationType": "capacity-block"},
            f'{PLANTED} is an On-Demand reservation: set capacity.reservation_type = "on-demand" and deploy again.',
        ),
        (
            {"State": "expired", "StartDate": NOW - timedelta(days=2)},
            {},
            f"{PLANTED} is expired: expected active. Name another one.",
        ),
        (
            {"State": "scheduled", "StartDate": NOW + timedelta(days=2)},
            {},
            f"{PLANTED} is scheduled, and starts 2026-12-01 12:00 UTC: expected active. Deploy again once it is "
            "active.",
        ),
        (
            {"InstanceType": "g6.48xlarge"},
            {},
            f"{PLANTED} has instance type g6.48xlarge: expected g6.12xlarge. {ANOTHER}",
        ),
        ({"InstancePlatform": "Windows"}, {}, f"{PLANTED} has platform Windows: expected Linux/UNIX. {ANOTHER}"),
        ({"Tenancy": "dedicated"}, {}, f"{PLANTED} has tenancy dedicated: expected default. {ANOTHER}"),
        (
            {"PlacementGroupArn": "arn:pg"},
            {},
            f"{PLANTED} has placement group arn:pg: expected none, for the nodes are in none. {ANOTHER}",
        ),
        (
            {"zone": C},
            {},
            f"{PLANTED} is in us-east-2c: expected one of the zones that have a subnet (us-east-2a, us-east-2b). Name "
            "another one, or build the network with that zone.",
        ),
        (
            {"EndDate": NOW + timedelta(minutes=59)},
            {},
            f"{PLANTED} ends 2026-11-29 12:59 UTC: expected at least 60 minutes from now. Extend it, or name "
            "another one.",
        ),
        (
            {"TotalInstanceCount": 1, "AvailableInstanceCount": 1},
            {},
            f"{PLANTED} is for 1 instances: expected at least 2. Enlarge it, or lower gpu_nodes.count.",
        ),
        (
            {"TotalInstanceCount": 8, "AvailableInstanceCount": 1},
            {},
            f"{PLANTED} is full: 1 of 8 instances are free, expected 2. End what runs in it, enlarge it, or name "
            "another one.",
        ),
    ],
)
def test_a_reservation_that_does_not_fit(
    world: World, reservation: dict[str, Any], changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(ProbeError) as caught:
        chosen(world, reservation, **changes)
    assert str(caught.value) == text
    assert caught.value.kind == "reservation"


@pytest.mark.failure_mode("C8")
def test_a_reservation_that_nobody_knows(world: World) -> None:
    with pytest.raises(ProbeError) as caught:
        on_event(create(**of_mode("reservation")), world.clients)
    assert str(caught.value) == (
        f"ReservationId is '{PLANTED}': expected a reservation that this account has in us-east-2, or that is shared "
        "with it. See: aws ec2 describe-capacity-reservations --region us-east-2 --filters Name=state,Values=active"
    )


def test_another_refusal_is_passed_on(world: World) -> None:
    world.ec2.failures["DescribeCapacityReservations"] = error("InternalError", "DescribeCapacityReservations")
    with pytest.raises(ProbeError, match="EC2 refused DescribeCapacityReservations in us-east-2: InternalError"):
        on_event(create(**of_mode("reservation")), world.clients)
