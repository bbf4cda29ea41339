"""What the probe asks before it tries a reservation. Every call here only reads."""

from collections.abc import Iterable
from typing import Any

from .clients import Clients
from .paging import items
from .properties import Properties
from .quota import Quota, ask_limit, counts
from .ranking import ZoneFacts
from .scores import Scores, ask_scores


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
    limit, instances = clients.at_once(
        lambda: ask_limit(wanted.quota_code, clients), lambda: ask_instances(wanted, clients)
    )
    return quota_of(wanted, limit, instances)


def ask_zones(wanted: Properties, quota: Quota, clients: Clients) -> list[ZoneFacts]:
    """Return the facts about the candidate zones and about the region's other zones that offer the type."""
    offered, scores = clients.at_once(
        lambda: ask_offered(wanted.instance_type, clients), lambda: ask_scores(wanted, clients)
    )
    return zone_facts(wanted, offered, quota, scores)


def ask_instances(wanted: Properties, clients: Clients) -> list[dict[str, Any]]:
    """Return the instances of the quota's families, Spot and Capacity Block ones included."""
    reservations = items(
        clients.ec2.describe_instances,
        "Reservations",
        Filters=[
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
            {"Name": "instance-type", "Values": [f"{family}*" for family in wanted.quota_families]},
        ],
        MaxResults=1000,
    )
    return [
        instance
        for reservation in reservations
        for instance in reservation["Instances"]
        if counts(instance["InstanceType"], wanted.quota_families)
    ]


def ask_nodes(instance_type: str, subnet_id: str, clients: Clients) -> list[dict[str, Any]]:
    """Return the instances of a type that run in a subnet, which nothing but the node group uses."""
    reservations = items(
        clients.ec2.describe_instances,
        "Reservations",
        Filters=[
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
            {"Name": "instance-type", "Values": [instance_type]},
        ],
        MaxResults=1000,
    )
    return nodes_among((i for r in reservations for i in r["Instances"]), instance_type, subnet_id)


def quota_of(wanted: Properties, limit: int, instances: Iterable[dict[str, Any]]) -> Quota:
    """Return the limit and what On-Demand instances use of it."""
    # A lifecycle is named where it is not On-Demand: Spot and Capacity Blocks have quotas of their own.
    used = sum(_vcpus(instance) for instance in instances if "InstanceLifecycle" not in instance)
    return Quota(code=wanted.quota_code, limit=limit, used=used)


def nodes_among(instances: Iterable[dict[str, Any]], instance_type: str, subnet_id: str) -> list[dict[str, Any]]:
    """Return the instances of a type in a subnet."""
    return [i for i in instances if i["InstanceType"] == instance_type and i.get("SubnetId") == subnet_id]


def zone_facts(wanted: Properties, offered: set[str], quota: Quota, scores: Scores) -> list[ZoneFacts]:
    """Return the facts about the candidate zones and about the region's other zones that offer the type."""
    return [
        ZoneFacts(
            zone=zone,
            offered=zone in offered,
            vcpus_free=quota.free,
            subnet_id=wanted.subnets_by_zone.get(zone),
            score=scores.by_zone.get(zone),
            excluded=zone in wanted.exclude_zones,
        )
        for zone in sorted(offered | wanted.subnets_by_zone.keys())
    ]


def _vcpus(instance: dict[str, Any]) -> int:
    options = instance["CpuOptions"]
    return int(options["CoreCount"]) * int(options["ThreadsPerCore"])
