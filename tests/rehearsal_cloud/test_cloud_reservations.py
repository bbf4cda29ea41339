"""Capacity reservations: what they hold, how they end, what EC2 refuses of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import GPU, caller, control, reservation_request

ZONE = "us-east-2a"


@pytest.fixture
def ec2(room: Cloud) -> Any:
    return caller(room, "ec2")


def reserve(ec2: Any, zone: str, token: str, count: int = 2, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = ec2.create_capacity_reservation(**reservation_request(zone, token, count, **changes))
    return dict(made["CapacityReservation"])


def code(call: Any, **parameters: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**parameters)
    return str(refused.value.response["Error"]["Code"])


def test_a_reservation_holds_capacity_until_it_is_cancelled(room: Cloud, ec2: Any) -> None:
    control(room, "POST", "capacity", zone=ZONE, instance_type=GPU, count=3)
    made = reserve(ec2, ZONE, "holds")
    assert (made["State"], made["TotalInstanceCount"], made["AvailableInstanceCount"]) == ("active", 2, 2)
    assert (made["AvailabilityZone"], made["ReservationType"]) == (ZONE, "default")
    assert made["Tags"] == [{"Key": "k", "Value": "holds"}]
    assert room.account.capacity.free(ZONE, GPU) == 1
    more = reservation_request(ZONE, "more")
    assert code(ec2.create_capacity_reservation, **more) == "InsufficientInstanceCapacity"
    assert ec2.cancel_capacity_reservation(CapacityReservationId=made["CapacityReservationId"])["Return"]
    assert room.account.capacity.free(ZONE, GPU) == 3


def test_a_client_token_gives_the_same_reservation_even_a_cancelled_one(ec2: Any) -> None:
    wanted = reservation_request(ZONE, "token")
    first = ec2.create_capacity_reservation(**wanted)["CapacityReservation"]
    ec2.cancel_capacity_reservation(CapacityReservationId=first["CapacityReservationId"])
    second = ec2.create_capacity_reservation(**wanted)["CapacityReservation"]
    assert second["CapacityReservationId"] == first["CapacityReservationId"]
    assert second["State"] == "cancelled" and second["AvailableInstanceCount"] == 0
    other = {**wanted, "InstanceCount": 3}
    assert code(ec2.create_capacity_reservation, **other) == "IdempotentParameterMismatch"


def test_a_reservation_ends_by_itself_and_gives_its_capacity_back(room: Cloud, ec2: Any) -> None:
    control(room, "POST", "capacity", zone=ZONE, instance_type=GPU, count=2)
    made = reserve(ec2, ZONE, "ends")
    assert room.account.capacity.free(ZONE, GPU) == 0
    control(room, "POST", "clock", minutes=61)
    (found,) = ec2.describe_capacity_reservations(Filters=[{"Name": "tag:k", "Values": ["ends"]}])[
        "CapacityReservations"
    ]
    assert (found["CapacityReservationId"], found["State"]) == (made["CapacityReservationId"], "expired")
    assert room.account.capacity.free(ZONE, GPU) == 2


def test_reservations_are_found_by_id_filter_and_page(ec2: Any) -> None:
    ids = [reserve(ec2, zone, f"page-{zone}")["CapacityReservationId"] for zone in (ZONE, "us-east-2b", "us-east-2c")]

    def found(**filters: str) -> list[str]:
        wanted = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
        answer = ec2.describe_capacity_reservations(Filters=wanted)
        return [item["CapacityReservationId"] for item in answer["CapacityReservations"]]

    assert found(availability_zone="us-east-2b", state="active") == [ids[1]]
    assert found(instance_type="g6.*", tag_key="k") == ids
    assert found(state="expired") == []
    pages = ec2.get_paginator("describe_capacity_reservations").paginate(PaginationConfig={"PageSize": 2})
    assert [len(page["CapacityReservations"]) for page in pages] == [2, 1]
    only = ec2.describe_capacity_reservations(CapacityReservationIds=[ids[2]])["CapacityReservations"]
    assert [item["CapacityReservationId"] for item in only] == [ids[2]]


def test_a_reservation_is_known_in_its_own_region_only(room: Cloud, ec2: Any) -> None:
    id = reserve(ec2, ZONE, "here")["CapacityReservationId"]
    elsewhere = caller(room, "ec2", "us-west-2")
    assert elsewhere.describe_capacity_reservations()["CapacityReservations"] == []
    cancelled = code(elsewhere.cancel_capacity_reservation, CapacityReservationId=id)
    assert cancelled == "InvalidCapacityReservationId.NotFound"
    there = reserve(elsewhere, "us-west-2a", "here")
    assert there["CapacityReservationId"] != id and ":us-west-2:" in there["CapacityReservationArn"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"InstanceType": "no.such"}, "Unsupported"),
        ({"AvailabilityZone": "us-west-2a"}, "InvalidParameterValue"),
        ({"EndDate": datetime.now(UTC) - timedelta(seconds=1)}, "InvalidParameterValue"),
        ({"EndDateType": "unlimited"}, "InvalidParameterCombination"),
        (
            {"PlacementGroupArn": "arn:aws:ec2:us-east-2:123456789012:placement-group/x"},
            "InvalidPlacementGroup.Unknown",
        ),
        ({"EbsOptimized": True}, "UnknownParameter"),
        ({"InstanceCount": 21}, "InstanceLimitExceeded"),
    ],
)
def test_a_reservation_is_refused(ec2: Any, changes: dict[str, Any], expected: str) -> None:
    wanted = reservation_request(ZONE, f"refused-{expected}", **changes)
    assert code(ec2.create_capacity_reservation, **wanted) == expected
    assert ec2.describe_capacity_reservations()["CapacityReservations"] == []


def test_reservations_use_up_the_quota_of_their_region(room: Cloud, ec2: Any) -> None:
    control(room, "POST", "quota", code="L-DB2E81BA", vcpus=96)
    held = reserve(ec2, ZONE, "quota")
    with pytest.raises(ClientError, match=r"more instances .1. than your current instance limit of 2 allows"):
        reserve(ec2, "us-east-2b", "over", 1)
    reserve(caller(room, "ec2", "us-west-2"), "us-west-2a", "elsewhere")
    ec2.cancel_capacity_reservation(CapacityReservationId=held["CapacityReservationId"])
    reserve(ec2, "us-east-2b", "again")


def test_quotas_are_the_default_until_one_is_set(room: Cloud) -> None:
    quotas, other = caller(room, "service-quotas"), caller(room, "service-quotas", "eu-west-1")
    name = {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}
    assert code(quotas.get_service_quota, **name) == "NoSuchResourceException"
    assert quotas.get_aws_default_service_quota(**name)["Quota"]["Value"] == 1000
    control(room, "POST", "quota", code="L-DB2E81BA", vcpus=0, region="eu-west-1")
    assert other.get_service_quota(**name)["Quota"]["Value"] == 0
    assert code(quotas.get_service_quota, **name) == "NoSuchResourceException"
    with pytest.raises(AssertionError, match="quota L-0: the rehearsal knows L-DB2E81BA"):
        control(room, "POST", "quota", code="L-0", vcpus=1)


def test_a_reservation_can_grow_and_last_longer(room: Cloud, ec2: Any) -> None:
    control(room, "POST", "capacity", zone=ZONE, instance_type=GPU, count=3)
    id = reserve(ec2, ZONE, "grows")["CapacityReservationId"]
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    ec2.modify_capacity_reservation(CapacityReservationId=id, InstanceCount=3, EndDate=end, EndDateType="limited")
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[id])["CapacityReservations"]
    assert (found["TotalInstanceCount"], found["EndDate"]) == (3, end)
    grown = {"CapacityReservationId": id, "InstanceCount": 4}
    assert code(ec2.modify_capacity_reservation, **grown) == "InsufficientInstanceCapacity"
    ec2.cancel_capacity_reservation(CapacityReservationId=id)
    assert room.account.capacity.free(ZONE, GPU) == 3
    assert code(ec2.modify_capacity_reservation, **grown) == "InvalidCapacityReservationState"


def test_a_capacity_block_that_was_there_before(room: Cloud, ec2: Any) -> None:
    planted = {"InstanceType": GPU, "AvailabilityZone": ZONE, "InstanceCount": 2, "ReservationType": "capacity-block"}
    id = control(room, "POST", "reservations", **planted)["capacityReservationId"]
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[id])["CapacityReservations"]
    assert (found["ReservationType"], found["State"], found["AvailableInstanceCount"]) == (
        "capacity-block",
        "active",
        2,
    )
    assert code(ec2.cancel_capacity_reservation, CapacityReservationId=id) == "OperationNotPermitted"
    later = control(room, "POST", "reservations", **planted, state="scheduled")
    assert (later["state"], later["availableInstanceCount"]) == ("scheduled", 0)
    with pytest.raises(AssertionError, match="InstanceCount"):
        control(room, "POST", "reservations", InstanceType=GPU, AvailabilityZone=ZONE)
