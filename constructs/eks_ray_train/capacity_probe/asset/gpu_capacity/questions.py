"""What the probe asks before it tries a reservation. Every call here only reads."""

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .log import log
from .properties import Properties
from .quota import Quota, counts
from .ranking import ZoneFacts


def ask_offered(instance_type: str, clients: Clients) -> set[str]:
    """Return the names of the region's zones that offer the instance type."""
    offerings = items(
        clients.ec2.describe_instance_type_offerings,
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": [instance_type]}],
    )
    return {offering["Location"] for offering in offerings}


def ask_quota(wanted: Properties, clients: Clients) -> Quota:
    """Return the account's quota in the region and what its On-Demand instances use of it."""
    name = {"ServiceCode": "ec2", "QuotaCode": wanted.quota_code}
    try:
        answer = clients.quotas.get_service_quota(**name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchResourceException":
            raise
        # No value was ever set for this account and region: the default applies.
        answer = clients.quotas.get_aws_default_service_quota(**name)
    used = sum(_vcpus(instance) for instance in _on_demand_instances(wanted, clients))
    return Quota(code=wanted.quota_code, limit=int(answer["Quota"]["Value"]), used=used)


def ask_zones(wanted: Properties, quota: Quota, clients: Clients) -> list[ZoneFacts]:
    """Return the facts about the candidate zones and about the region's other zones that offer the type."""
    offered = ask_offered(wanted.instance_type, clients)
    scores = _placement_scores(wanted, clients)
    return [
        ZoneFacts(
            zone=zone,
            offered=zone in offered,
            vcpus_free=quota.free,
            subnet_id=wanted.subnets_by_zone.get(zone),
            score=scores.get(zone),
        )
        for zone in sorted(offered | wanted.subnets_by_zone.keys())
    ]


def items(operation: Callable[..., dict[str, Any]], key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
    """Yield the items under ``key`` of every page of an operation's answer."""
    page = operation(**parameters)
    yield from page[key]
    while page.get("NextToken"):
        page = operation(**parameters, NextToken=page["NextToken"])
        yield from page[key]


def _on_demand_instances(wanted: Properties, clients: Clients) -> Iterator[dict[str, Any]]:
    reservations = items(
        clients.ec2.describe_instances,
        "Reservations",
        Filters=[
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
            {"Name": "instance-type", "Values": [f"{family}*" for family in wanted.quota_families]},
        ],
        MaxResults=1000,
    )
    for reservation in reservations:
        for instance in reservation["Instances"]:
            # A lifecycle is named where it is not On-Demand: Spot and Capacity Blocks have quotas of their own.
            if "InstanceLifecycle" not in instance and counts(instance["InstanceType"], wanted.quota_families):
                yield instance


def _vcpus(instance: dict[str, Any]) -> int:
    options = instance["CpuOptions"]
    return int(options["CoreCount"]) * int(options["ThreadsPerCore"])


def _placement_scores(wanted: Properties, clients: Clients) -> dict[str, int]:
    """Return the Spot placement score by zone name; empty when EC2 gives none, for it only breaks ties."""
    try:
        names = {
            zone["ZoneId"]: zone["ZoneName"]
            for zone in clients.ec2.describe_availability_zones(
                Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}]
            )["AvailabilityZones"]
        }
        scores = items(
            clients.ec2.get_spot_placement_scores,
            "SpotPlacementScores",
            InstanceTypes=[wanted.instance_type],
            TargetCapacity=wanted.count,
            SingleAvailabilityZone=True,
            RegionNames=[clients.region],
        )
        return {
            names[score["AvailabilityZoneId"]]: score["Score"]
            for score in scores
            if score["AvailabilityZoneId"] in names
        }
    except (BotoCoreError, ClientError) as error:
        log("warning", "no Spot placement scores: zones are ranked without them", error=str(error))
        return {}
