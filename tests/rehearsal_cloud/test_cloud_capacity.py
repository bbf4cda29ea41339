"""Capacity reservations, quotas, placement scores, and zones without room."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import Stacks, group_properties

GPU = "g6.12xlarge"


@pytest.fixture
def ec2(cloud: Cloud) -> Iterator[Any]:
    yield cloud.account.client("ec2")
    for zone in "abc":
        cloud.account.capacity.limit(f"us-east-2{zone}", GPU, 1000)


def request(zone: str, token: str, count: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "ClientToken": token,
        "InstanceType": GPU,
        "InstanceCount": count,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone,
        "InstanceMatchCriteria": "targeted",
        "EndDateType": "limited",
        "EndDate": datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1),
        "TagSpecifications": [{"ResourceType": "capacity-reservation", "Tags": [{"Key": "k", "Value": token}]}],
        **changes,
    }


def test_a_reservation_holds_capacity_until_it_is_cancelled(cloud: Cloud, ec2: Any) -> None:
    cloud.account.capacity.limit("us-east-2a", GPU, 3)
    made = ec2.create_capacity_reservation(**request("us-east-2a", "holds"))["CapacityReservation"]
    assert (made["State"], made["TotalInstanceCount"], made["AvailabilityZone"]) == ("active", 2, "us-east-2a")
    assert made["Tags"] == [{"Key": "k", "Value": "holds"}]
    with pytest.raises(ClientError) as refused:
        ec2.create_capacity_reservation(**request("us-east-2a", "more"))
    assert refused.value.response["Error"]["Code"] == "InsufficientInstanceCapacity"
    assert ec2.cancel_capacity_reservation(CapacityReservationId=made["CapacityReservationId"])["Return"]
    again = ec2.create_capacity_reservation(**request("us-east-2a", "again"))["CapacityReservation"]
    ec2.cancel_capacity_reservation(CapacityReservationId=again["CapacityReservationId"])


def test_a_client_token_gives_the_same_reservation_even_a_cancelled_one(ec2: Any) -> None:
    wanted = request("us-east-2b", "token")
    first = ec2.create_capacity_reservation(**wanted)["CapacityReservation"]
    ec2.cancel_capacity_reservation(CapacityReservationId=first["CapacityReservationId"])
    second = ec2.create_capacity_reservation(**wanted)["CapacityReservation"]
    assert second["CapacityReservationId"] == first["CapacityReservationId"]
    assert second["State"] == "cancelled"
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        ec2.create_capacity_reservation(**{**wanted, "InstanceCount": 3})


def test_reservations_are_found_by_tag_and_id_and_end_by_themselves(cloud: Cloud, ec2: Any) -> None:
    cloud.account.capacity.limit("us-east-2c", GPU, 2)
    soon = datetime.now(UTC) - timedelta(seconds=1)
    made = ec2.create_capacity_reservation(**request("us-east-2c", "ends", EndDate=soon))["CapacityReservation"]
    (found,) = ec2.describe_capacity_reservations(Filters=[{"Name": "tag:k", "Values": ["ends"]}])[
        "CapacityReservations"
    ]
    assert found["CapacityReservationId"] == made["CapacityReservationId"]
    assert found["State"] == "expired"
    cloud.account.capacity.take("us-east-2c", GPU, 2)
    with pytest.raises(ClientError, match="NotFound"):
        ec2.describe_capacity_reservations(CapacityReservationIds=["cr-0"])


def test_a_type_is_reserved_only_where_it_is_offered(ec2: Any) -> None:
    with pytest.raises(ClientError, match="Unsupported"):
        ec2.create_capacity_reservation(**request("us-east-2a", "type", InstanceType="no.such"))


def test_quotas_are_the_default_until_one_is_set(cloud: Cloud) -> None:
    quotas = cloud.account.client("service-quotas")
    name = {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}
    with pytest.raises(ClientError, match="NoSuchResourceException"):
        quotas.get_service_quota(**name)
    assert quotas.get_aws_default_service_quota(**name)["Quota"]["Value"] == 1000
    cloud.account.capacity.quotas["L-DB2E81BA"] = 96.0
    assert quotas.get_service_quota(**name)["Quota"]["Value"] == 96
    del cloud.account.capacity.quotas["L-DB2E81BA"]


def test_placement_scores_come_by_zone_id(cloud: Cloud, ec2: Any) -> None:
    cloud.account.capacity.scores["us-east-2b"] = 9
    zones = {zone["ZoneId"]: zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]}
    answer = ec2.get_spot_placement_scores(InstanceTypes=[GPU], TargetCapacity=2, SingleAvailabilityZone=True)
    scores = {zones[item["AvailabilityZoneId"]]: item["Score"] for item in answer["SpotPlacementScores"]}
    assert scores["us-east-2b"] == 9 and scores["us-east-2a"] == 5
    del cloud.account.capacity.scores["us-east-2b"]


def test_a_node_group_needs_capacity_in_its_zone(
    cloud: Cloud, ec2: Any, stacks: Stacks, network: dict[str, str], cluster: dict[str, str], nodes: dict[str, Any]
) -> None:
    sizes = {"DesiredSize": 2, "MaxSize": 2, "MinSize": 2}
    resources = {
        "Nodes": {
            "Type": "AWS::EKS::Nodegroup",
            "Properties": group_properties(network, cluster, ScalingConfig=sizes),
        }
    }
    cloud.account.capacity.limit("us-east-2a", GPU, 1)
    stacks.create_badly("full", resources)
    assert "InsufficientInstanceCapacity" in stacks.reason("full", "Nodes")
    assert "us-east-2a" in stacks.reason("full", "Nodes")
    assert not nodes
    cloud.account.capacity.take("us-east-2a", GPU, 1)
    cloud.account.capacity.limit("us-east-2a", GPU, 2)
    stacks.create("room", resources)
    running = [item["Instances"][0] for item in ec2.describe_instances()["Reservations"]]
    assert [item["InstanceType"] for item in running] == [GPU, GPU]
    assert {item["CpuOptions"]["CoreCount"] * item["CpuOptions"]["ThreadsPerCore"] for item in running} == {48}
    stacks.delete("room")
    assert not ec2.describe_instances()["Reservations"]
    cloud.account.capacity.take("us-east-2a", GPU, 2)
