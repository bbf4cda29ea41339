"""The capacity probe's own questions, ranking and reservations: the one module of ops that names the probe's modules.

What the deploy will ask, this asks beforehand, with the same functions.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import boto3

from eks_ray_train.capacity_probe.asset.gpu_capacity import messages
from eks_ray_train.capacity_probe.asset.gpu_capacity.clients import Clients
from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.leftovers import cancel_leftovers, find, state_of
from eks_ray_train.capacity_probe.asset.gpu_capacity.paging import items
from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import STACK_TAG, Properties
from eks_ray_train.capacity_probe.asset.gpu_capacity.questions import (
    ask_instances,
    ask_offered,
    ask_quota,
    quota_of,
    zone_facts,
)
from eks_ray_train.capacity_probe.asset.gpu_capacity.quota import Quota, ask_limit
from eks_ray_train.capacity_probe.asset.gpu_capacity.ranking import Verdict, ZoneFacts, rank, usable
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import (
    ENDS_AFTER,
    QuotaRefusedError,
    prove,
)
from eks_ray_train.capacity_probe.asset.gpu_capacity.scores import ask_scores
from eks_ray_train.capacity_probe.asset.gpu_capacity.stickiness import current
from eks_ray_train.capacity_probe.asset.gpu_capacity.tags import OPEN, is_open
from eks_ray_train.instance_types import InstanceType
from ops.account import client
from ops.workers import all_of

__all__ = [
    "ENDS_AFTER",
    "STACK_TAG",
    "Clients",
    "ProbeError",
    "Properties",
    "Quota",
    "Verdict",
    "ZoneFacts",
    "rank",
    "usable",
]

SUBNET_TO_COME = "made by the deploy"
"""Stands for the subnet that each candidate zone will have: the ranking rejects a zone without one."""


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A zone of the region; ``id`` is the same for every account, where names are not."""

    name: str
    id: str


@dataclass(frozen=True, kw_only=True)
class RegionFacts:
    """What is known of a region; ``scores_ignored`` says why its Spot placement scores are of no use, if so."""

    zones: list[Zone]
    quota: Quota
    facts: list[ZoneFacts]
    scores_ignored: str | None


def group(instance: InstanceType, count: int, *, owner: str, exclude_zones: Iterable[str] = ()) -> Properties:
    """The group of instances that is asked about; ``owner`` marks its reservations.

    It is in no placement group, which the stack makes only later: a proof is easier than a deploy whose environment
    sets ``gpu_nodes.placement_group``, for that one reserves within its placement group.
    """
    return Properties(
        instance_type=instance.name,
        count=count,
        vcpus_per_instance=instance.vcpus,
        quota_code=instance.quota_code,
        quota_families=instance.quota_families,
        mode="probe",
        zone=None,
        subnets_by_zone={},
        placement_group_arn=None,
        tags={STACK_TAG: owner},
        exclude_zones=frozenset(exclude_zones),
    )


def connect(session: boto3.Session, region: str, at_once: Callable[..., list[Any]] = all_of) -> Clients:
    """Clients of a region. Not for several threads at once; what it returns is."""
    return Clients(
        ec2=client(session, "ec2", region),
        quotas=client(session, "service-quotas", region),
        region=region,
        remaining_ms=lambda: 10**9,
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
        at_once=at_once,
    )


def questions(wanted: Properties, clients: Clients) -> Mapping[str, Callable[[], Any]]:
    """What is asked about a region, by name; each only reads, and none waits for another's answer."""
    return {
        "zones": lambda: _zones(clients),
        "offered": lambda: ask_offered(wanted.instance_type, clients),
        "limit": lambda: ask_limit(wanted.quota_code, clients),
        "instances": lambda: ask_instances(wanted, clients),
        "scores": lambda: ask_scores(wanted, clients),
    }


def region_facts(wanted: Properties, answers: Mapping[str, Any]) -> RegionFacts:
    """What the answers to ``questions`` say together."""
    zones, scores = answers["zones"], answers["scores"]
    quota = quota_of(wanted, answers["limit"], answers["instances"])
    every = replace(wanted, subnets_by_zone={zone.name: SUBNET_TO_COME for zone in zones})
    return RegionFacts(
        zones=zones,
        quota=quota,
        facts=[fact for fact in zone_facts(every, answers["offered"], quota, scores) if fact.subnet_id],
        scores_ignored=scores.ignored,
    )


def reserve_and_cancel(wanted: Properties, zone: str, request_id: str, clients: Clients) -> str | None:
    """Reserve the whole group in a zone for a moment; None when EC2 gave it, else why it did not.

    Raises:
        ProbeError: for what another zone of the region would not change.
    """
    try:
        return prove(wanted, zone, request_id, 0, clients)
    except QuotaRefusedError as error:
        raise messages.quota_refused(wanted, ask_quota(wanted, clients), clients.region, str(error)) from error


def cancel_open(owner: str, clients: Clients) -> None:
    """Cancel every open reservation that ``owner`` marks."""
    cancel_leftovers(owner, clients)


def has_ended(reservation_id: str, clients: Clients) -> bool:
    """Whether EC2 says that a reservation no longer bills."""
    state = state_of(reservation_id, clients)
    return state is not None and state not in OPEN


def open_reservations(owner: str, clients: Clients) -> list[dict[str, Any]]:
    """The reservations that ``owner`` marks and that bill, as EC2 describes them."""
    return [reservation for reservation in find(owner, clients) if is_open(reservation)]


def zone_of(physical_id: str) -> str | None:
    """The zone that the probe chose, by the physical id of its custom resource."""
    choice = current(physical_id)
    return None if choice is None else choice.zone


def quota_text(wanted: Properties, quota: Quota, region: str) -> str:
    """What is used, the limit, and the command that asks for more."""
    return str(messages.quota_exceeded(wanted, quota, region))


def _zones(clients: Clients) -> list[Zone]:
    found = items(
        clients.ec2.describe_availability_zones,
        "AvailabilityZones",
        Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}],
    )
    return [Zone(name=zone["ZoneName"], id=zone["ZoneId"]) for zone in found]
