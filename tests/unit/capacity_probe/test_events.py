"""Create, in the modes that reserve nothing for long."""

import json
from datetime import timedelta

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import client_token

from .fakes import NOW, SUBNETS, A, B, C, World, error, instance
from .lines import lines
from .reservations import cr
from .sent import create

GROUP = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


# Create


def test_create_answers_with_zone_subnet_table_and_reason(world: World) -> None:
    world.ec2.offered = [A, B, C]
    world.ec2.scores = {A: 3, B: 7, C: 9}
    answer = on_event(create(), world.clients)
    assert answer["PhysicalResourceId"].startswith("us-east-2b/subnet-0b/")
    assert answer["Data"] == {
        "AvailabilityZone": B,
        "SubnetId": SUBNETS[B],
        "ReservationId": "none",
        "Table": "us-east-2b: chosen (score 7); us-east-2a: not tried (score 3); us-east-2c: no subnet",
        "Reason": "EC2 reserved 2 x g6.12xlarge in us-east-2b, and the reservation was cancelled at once",
    }
    assert len(json.dumps(answer)) < 3000  # CloudFormation takes 4,096 bytes


@pytest.mark.failure_mode("C9")
@pytest.mark.failure_mode("C4")
def test_the_reservation_is_what_the_nodes_will_need_and_ends_by_itself(world: World) -> None:
    on_event(create(PlacementGroupArn=GROUP), world.clients)
    assert world.ec2.parameters_of("CreateCapacityReservation") == [
        {
            "ClientToken": client_token("request-1", A, 0),
            "InstanceType": "g6.12xlarge",
            "InstanceCount": 2,
            "InstancePlatform": "Linux/UNIX",
            "Tenancy": "default",
            "AvailabilityZone": A,
            "InstanceMatchCriteria": "targeted",
            "EndDateType": "limited",
            "EndDate": NOW.replace(microsecond=0) + timedelta(minutes=60),
            "TagSpecifications": [
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [
                        {"Key": "eks-ray-train:request", "Value": "request-1"},
                        {"Key": "eks-ray-train:stack", "Value": "dev-Gpu"},
                    ],
                }
            ],
            "PlacementGroupArn": GROUP,
        }
    ]
    assert world.ec2.parameters_of("CancelCapacityReservation") == [{"CapacityReservationId": cr(0)}]
    assert world.ec2.open_reservations == []


def test_without_a_placement_group_none_is_named(world: World) -> None:
    on_event(create(), world.clients)
    assert "PlacementGroupArn" not in world.ec2.parameters_of("CreateCapacityReservation")[0]


def test_client_tokens_fit_ec2_and_differ_by_request_zone_and_try() -> None:
    tokens = {client_token(r, z, n) for r in ("request-1", "request-2") for z in (A, B) for n in (0, 1)}
    assert len(tokens) == 8
    assert all(len(token) <= 64 for token in tokens)


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "ReservationCapacityExceeded"])
def test_a_zone_without_room_is_passed_over_with_its_reason(world: World, code: str) -> None:
    world.ec2.no_room = {A: code}
    answer = on_event(create(), world.clients)
    assert world.ec2.tried == [A, B]
    assert answer["Data"]["AvailabilityZone"] == B
    assert answer["Data"]["Table"] == f"us-east-2a: no capacity ({code}); us-east-2b: chosen (score unknown)"


def test_a_zone_that_does_not_offer_the_type_is_not_tried(world: World) -> None:
    world.ec2.offered = [B]
    assert on_event(create(), world.clients)["Data"]["Table"] == (
        "us-east-2b: chosen (score unknown); us-east-2a: not offered"
    )
    assert world.ec2.tried == [B]


@pytest.mark.failure_mode("C3")
@pytest.mark.parametrize("operation", ["GetSpotPlacementScores", "DescribeAvailabilityZones"])
def test_scores_are_a_hint_whose_absence_is_a_warning(
    world: World, operation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ec2.scores = {A: 1, B: 9}
    world.ec2.failures[operation] = error("UnauthorizedOperation", operation)
    assert on_event(create(), world.clients)["Data"]["AvailabilityZone"] == A
    assert any(line["level"] == "warning" and "UnauthorizedOperation" in line["error"] for line in lines(capsys))


def test_scores_are_asked_for_single_zones_of_this_region(world: World) -> None:
    world.ec2.scores = {A: 1, B: 9}
    on_event(create(), world.clients)
    assert world.ec2.parameters_of("GetSpotPlacementScores")[0] == {
        "InstanceTypes": ["g6.12xlarge"],
        "TargetCapacity": 2,
        "SingleAvailabilityZone": True,
        "RegionNames": ["us-east-2"],
    }


def test_a_pending_reservation_is_waited_for(world: World) -> None:
    world.ec2.made.new_states = ["pending", "pending", "active"]
    on_event(create(), world.clients)
    assert world.clock.now - NOW == timedelta(seconds=4)
    assert world.ec2.tried == [A]


@pytest.mark.parametrize("states", [["pending"], ["pending", "failed"]])
def test_a_reservation_that_never_gets_active_proves_nothing(world: World, states: list[str]) -> None:
    world.ec2.made.new_states = states
    with pytest.raises(ProbeError, match=rf"us-east-2a: no capacity \(reservation {states[-1]}\); us-east-2b: no cap"):
        on_event(create(), world.clients)
    assert world.ec2.open_reservations == []


def test_the_presigned_url_is_not_in_the_log(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    on_event(create(), world.clients)
    out = capsys.readouterr().out
    assert "secret.example" not in out
    assert '"message": "answer"' in out


# Quota


def test_only_on_demand_instances_of_the_quota_s_families_use_it(world: World) -> None:
    world.quotas.applied = 192.0
    world.ec2.instances = [
        instance("g6.12xlarge", 24),
        instance("g5.xlarge", 2),
        instance("g6.48xlarge", 96, InstanceLifecycle="spot"),
        instance("vt1.3xlarge", 12, threads=1),
        instance("m7i.xlarge", 2),
    ]
    with pytest.raises(ProbeError) as caught:
        on_event(create(Count="3"), world.clients)
    assert caught.value.details["used"] == 48 + 4 + 12
    assert world.ec2.parameters_of("DescribeInstances")[0]["Filters"] == [
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
        {"Name": "instance-type", "Values": ["g*", "vt*"]},
    ]


def test_exactly_enough_quota_is_enough(world: World) -> None:
    world.quotas.applied = 144.0
    world.ec2.instances = [instance("g6.12xlarge", 24)]
    on_event(create(), world.clients)
    assert world.ec2.tried == [A]


def test_the_default_quota_applies_where_none_was_set(world: World) -> None:
    world.quotas.applied, world.quotas.default = None, 96.0
    on_event(create(), world.clients)
    assert world.quotas.operations[:2] == ["GetServiceQuota", "GetAWSDefaultServiceQuota"]
    world.quotas.applied, world.quotas.default = None, 0.0
    with pytest.raises(ProbeError, match="is 0 and 0 are in use"):
        on_event(create(), world.clients)


# Mode zone


def test_a_fixed_zone_is_checked_and_nothing_is_reserved(world: World) -> None:
    answer = on_event(create(Mode="zone", Zone=B), world.clients)
    assert answer["Data"] == {
        "AvailabilityZone": B,
        "SubnetId": SUBNETS[B],
        "ReservationId": "none",
        "Table": "us-east-2b: chosen (fixed)",
        "Reason": "fixed by the settings; g6.12xlarge is offered there, its capacity was not tried",
    }
    assert set(world.ec2.operations) == {
        "DescribeCapacityReservations",
        "DescribeInstanceTypeOfferings",
        "DescribeInstances",
    }
    assert world.ec2.parameters_of("DescribeInstanceTypeOfferings")[0] == {
        "LocationType": "availability-zone",
        "Filters": [{"Name": "instance-type", "Values": ["g6.12xlarge"]}],
    }


def test_a_fixed_zone_needs_quota_as_well(world: World) -> None:
    world.quotas.applied = 95.0
    with pytest.raises(ProbeError, match=r"vCPU quota too small: 2 x g6\.12xlarge need 96 vCPUs"):
        on_event(create(Mode="zone", Zone=B), world.clients)


# Mode offerings


def test_offerings_takes_the_best_zone_and_reserves_nothing(world: World) -> None:
    world.ec2.scores = {A: 3, B: 7}
    answer = on_event(create(Mode="offerings"), world.clients)
    assert answer["Data"]["AvailabilityZone"] == B
    assert answer["Data"]["Table"] == "us-east-2b: chosen (score 7); us-east-2a: not tried (score 3)"
    assert answer["Data"]["Reason"] == ("the best by offering, quota and placement score; its capacity was not tried")
    assert world.ec2.tried == []


# Zones


def test_an_excluded_zone_is_not_taken_and_the_table_says_why(world: World) -> None:
    world.ec2.scores = {A: 9, B: 2}
    answer = on_event(create(ExcludeZones=[A]), world.clients)
    assert answer["Data"]["Table"] == "us-east-2b: chosen (score 2); us-east-2a: excluded by the settings"
    assert world.ec2.tried == [B]
