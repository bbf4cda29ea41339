"""Many regions: which there are, what each offers, and the limits of the placement scores."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from rehearsal.cloud.regions import ENABLED
from tests.rehearsal_cloud.cloud_stacks import GPU, caller, control, reservation_request


def regions(ec2: Any, **parameters: Any) -> dict[str, str]:
    return {item["RegionName"]: item["OptInStatus"] for item in ec2.describe_regions(**parameters)["Regions"]}


def test_an_account_has_seventeen_regions_until_it_opts_in_to_more(room: Cloud) -> None:
    ec2 = caller(room, "ec2")
    enabled = regions(ec2)
    assert len(enabled) == 17 and set(enabled.values()) == {"opt-in-not-required"}
    every = regions(ec2, AllRegions=True)
    assert enabled.items() < every.items() and every["af-south-1"] == "not-opted-in"
    asked = [{"Name": "opt-in-status", "Values": ["not-opted-in"]}]
    assert regions(ec2, AllRegions=True, Filters=asked).keys() == every.keys() - enabled.keys()
    assert regions(ec2, RegionNames=["eu-west-1"]) == {"eu-west-1": "opt-in-not-required"}
    with pytest.raises(ClientError, match="Invalid values found for region names"):
        ec2.describe_regions(RegionNames=["mars-1"])


@pytest.mark.parametrize(("service", "call"), [("ec2", "describe_instances"), ("resource-groups", "list_groups")])
def test_a_region_that_is_not_enabled_takes_no_credentials(room: Cloud, service: str, call: str) -> None:
    with pytest.raises(ClientError, match=r"AuthFailure|UnrecognizedClientException"):
        getattr(caller(room, service, "af-south-1"), call)()


def test_each_region_has_its_own_zones_offerings_and_capacity(room: Cloud) -> None:
    wanted = {
        "LocationType": "availability-zone",
        "Filters": [{"Name": "instance-type", "Values": [GPU]}],
    }
    offered = {}
    for region in ("us-east-2", "eu-west-1", "sa-east-1"):
        found = caller(room, "ec2", region).describe_instance_type_offerings(**wanted)["InstanceTypeOfferings"]
        offered[region] = sorted(item["Location"][-1] for item in found)
    assert offered == {"us-east-2": ["a", "b", "c"], "eu-west-1": [], "sa-east-1": ["a", "b"]}
    west = caller(room, "ec2", "us-west-2")
    control(room, "POST", "capacity", zone="us-west-2a", instance_type=GPU, count=0)
    with pytest.raises(ClientError, match="InsufficientInstanceCapacity"):
        west.create_capacity_reservation(**reservation_request("us-west-2a", "none"))
    west.create_capacity_reservation(**reservation_request("us-west-2b", "some"))


def test_placement_scores_are_the_ten_best_of_at_most_ten_regions(room: Cloud) -> None:
    ec2 = caller(room, "ec2")
    ask = {"InstanceTypes": [GPU], "TargetCapacity": 2}
    control(room, "POST", "score", zone="sa-east-1", score=9)
    best = ec2.get_spot_placement_scores(**ask)["SpotPlacementScores"]
    assert len(best) == 10 and (best[0]["Region"], best[0]["Score"]) == ("sa-east-1", 9)
    control(room, "POST", "score", zone="eu-west-1b", score=8)
    zones = {zone["ZoneId"]: zone["ZoneName"] for zone in _zones(room, "eu-west-1")}
    one = ec2.get_spot_placement_scores(**ask, SingleAvailabilityZone=True, RegionNames=["eu-west-1"])
    scores = {zones[item["AvailabilityZoneId"]]: item["Score"] for item in one["SpotPlacementScores"]}
    assert scores == {"eu-west-1a": 5, "eu-west-1b": 8, "eu-west-1c": 5}
    many = ec2.get_spot_placement_scores(**ask, SingleAvailabilityZone=True, RegionNames=list(ENABLED[:10]))
    assert len(many["SpotPlacementScores"]) == 10
    with pytest.raises(ClientError, match="exceeds the limit of 10"):
        ec2.get_spot_placement_scores(**ask, RegionNames=list(ENABLED[:11]))
    with pytest.raises(ClientError, match="one instance type that it knows"):
        ec2.get_spot_placement_scores(**{**ask, "InstanceTypes": ["no.such"]})


def test_the_spot_quota_caps_the_placement_scores(room: Cloud) -> None:
    ask = {"InstanceTypes": [GPU], "SingleAvailabilityZone": True, "RegionNames": ["us-east-2"]}
    control(room, "POST", "quota", code="L-3819A6DF", vcpus=48)

    def scores(count: int) -> set[int]:
        answer = caller(room, "ec2").get_spot_placement_scores(**ask, TargetCapacity=count)
        return {item["Score"] for item in answer["SpotPlacementScores"]}

    assert (scores(1), scores(2)) == ({5}, {1})


def _zones(cloud: Cloud, region: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller(cloud, "ec2", region).describe_availability_zones()["AvailabilityZones"]
    return found
