"""The custom resource's properties: names, types and checks.

CloudFormation turns every value into a string before the function sees it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .checked import mapping, matching, number, strings, wrong
from .errors import ProbeError

STACK_TAG = "eks-ray-train:stack"
"""Key of the tag that marks a reservation as one of this stack's; its value is the stack's name."""

MODE_NAMES = ("hold", "probe", "offerings", "zone", "reservation")

DECIDING = ("InstanceType", "PlacementGroupArn", "ForceToken", "ExcludeZones", "ReservationId", "ReservationType")
"""Properties that decide the zone, beside the set of candidate zones; a change of another one keeps it."""

_FROM_CLOUDFORMATION = {"ServiceToken", "ServiceTimeout"}
_REQUIRED = {
    "InstanceType",
    "Count",
    "VcpusPerInstance",
    "QuotaCode",
    "QuotaFamilies",
    "Mode",
    "SubnetsByZone",
    "Tags",
}
_OF_A_MODE = {
    "HoldMinutes": "hold",
    "GroupArn": "hold",
    "Zone": "zone",
    "ReservationId": "reservation",
    "ReservationType": "reservation",
}
_OPTIONAL = {"ExcludeZones", "PlacementGroupArn", "ForceToken", *_OF_A_MODE}

_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_QUOTA_CODE = re.compile(r"L-[0-9A-F]{8}")
_FAMILY = re.compile(r"[a-z]+")
_ZONE = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9][a-z0-9-]*[a-z]")
_SUBNET = re.compile(r"subnet-[0-9a-f]+")
_PLACEMENT_GROUP = re.compile(r"arn:aws[a-z-]*:ec2:[a-z0-9-]+:[0-9]{12}:placement-group/.{1,255}")
_GROUP = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.{1,300}")
_RESERVATION = re.compile(r"cr-[0-9a-f]+")
_RESERVATION_TYPE = re.compile(r"on-demand|capacity-block")


@dataclass(frozen=True, kw_only=True)
class Properties:
    """What is asked for; ``tags`` hold ``STACK_TAG``.

    ``hold_minutes`` and ``group_arn`` (the resource group that the launch template targets) belong to mode ``hold``,
    ``zone`` to mode ``zone``, ``reservation_id`` and ``capacity_block`` to mode ``reservation``.
    """

    instance_type: str
    count: int
    vcpus_per_instance: int
    quota_code: str
    quota_families: tuple[str, ...]
    mode: str
    zone: str | None
    subnets_by_zone: Mapping[str, str]
    placement_group_arn: str | None
    tags: Mapping[str, str]
    exclude_zones: frozenset[str] = frozenset()
    hold_minutes: int = 0
    group_arn: str | None = None
    reservation_id: str | None = None
    capacity_block: bool = False

    @property
    def vcpus_needed(self) -> int:
        """Return the vCPUs of the whole group."""
        return self.count * self.vcpus_per_instance

    @property
    def wanted(self) -> str:
        """Return the group as people write it: ``2 x g6.12xlarge``."""
        return f"{self.count} x {self.instance_type}"

    @property
    def candidates(self) -> dict[str, str]:
        """Return the zones that may be chosen, with their subnets."""
        return {zone: subnet for zone, subnet in self.subnets_by_zone.items() if zone not in self.exclude_zones}


def parse(raw: Mapping[str, Any]) -> Properties:
    """Return the checked properties.

    Raises ProbeError that names the property, its value and what was expected.
    """
    missing = sorted(name for name in _REQUIRED if name not in raw)
    if missing:
        raise ProbeError("property", f"Missing properties: {', '.join(missing)}.")
    unknown = sorted(raw.keys() - _REQUIRED - _OPTIONAL - _FROM_CLOUDFORMATION)
    if unknown:
        raise ProbeError("property", f"Unknown properties: {', '.join(unknown)}.")

    subnets = mapping(raw, "SubnetsByZone")
    for zone, subnet in subnets.items():
        matching(f"SubnetsByZone key {zone}", zone, _ZONE, "an Availability Zone such as us-east-2a")
        matching(f"SubnetsByZone.{zone}", subnet, _SUBNET, "a subnet id such as subnet-0123456789abcdef0")
    families = strings(raw, "QuotaFamilies", "instance family prefixes such as g, vt")
    tags = mapping(raw, "Tags")
    if not tags.get(STACK_TAG):
        raise wrong("Tags", tags, f"the tag {STACK_TAG} with the stack's name, by which leftovers are found")
    placement_group = raw.get("PlacementGroupArn")
    if placement_group is not None:
        matching("PlacementGroupArn", placement_group, _PLACEMENT_GROUP, "the ARN of a placement group")
    force_token = raw.get("ForceToken")
    if force_token is not None and not isinstance(force_token, str):
        raise wrong("ForceToken", force_token, "a string")
    excluded = raw.get("ExcludeZones", [])
    check_mode(raw, subnets, excluded)
    return Properties(
        instance_type=matching("InstanceType", raw["InstanceType"], _INSTANCE_TYPE, "a type such as g6.12xlarge"),
        count=number(raw, "Count"),
        vcpus_per_instance=number(raw, "VcpusPerInstance"),
        quota_code=matching("QuotaCode", raw["QuotaCode"], _QUOTA_CODE, "a code such as L-DB2E81BA"),
        quota_families=tuple(
            matching("QuotaFamilies", family, _FAMILY, "prefixes of letters, such as g") for family in families
        ),
        mode=raw["Mode"],
        zone=raw.get("Zone"),
        subnets_by_zone=subnets,
        placement_group_arn=placement_group,
        tags=tags,
        exclude_zones=frozenset(excluded),
        hold_minutes=number(raw, "HoldMinutes") if raw["Mode"] == "hold" else 0,
        group_arn=matching("GroupArn", raw["GroupArn"], _GROUP, "the ARN of a resource group")
        if raw["Mode"] == "hold"
        else None,
        reservation_id=raw.get("ReservationId"),
        capacity_block=raw.get("ReservationType") == "capacity-block",
    )


def stack_name_of(raw: Mapping[str, Any]) -> str:
    """Return the stack's name from properties that may be wrong otherwise; empty where it is not there."""
    tags = raw.get("Tags")
    return str(tags.get(STACK_TAG, "")) if isinstance(tags, dict) else ""


def check_mode(raw: Mapping[str, Any], candidates: Collection[str], excluded: Collection[str]) -> None:
    """Check the mode, that what belongs to it is there, and that nothing is there which it would ignore.

    Raises ProbeError. Also called while the template is made, before anything is deployed.
    """
    mode = raw.get("Mode")
    if mode not in MODE_NAMES:
        raise wrong("Mode", mode, f"one of {', '.join(MODE_NAMES)}")
    for name, belongs in _OF_A_MODE.items():
        if belongs == mode and raw.get(name) is None:
            raise wrong(name, None, f"a value in mode {mode}")
        if belongs != mode and raw.get(name) is not None:
            raise wrong(name, raw[name], f"none in mode {mode}, which would ignore it")
    if excluded and mode in ("zone", "reservation"):
        raise wrong("ExcludeZones", sorted(excluded), f"none in mode {mode}, which does not search")
    if unknown := sorted(set(excluded) - set(candidates)):
        raise wrong("ExcludeZones", unknown, f"zones of the candidates ({', '.join(sorted(candidates))})")
    if candidates and not set(candidates) - set(excluded):
        raise wrong("ExcludeZones", sorted(excluded), "at least one candidate zone to be left")
    if mode == "zone" and raw["Zone"] not in candidates:
        raise wrong("Zone", raw["Zone"], f"one of the zones that have a subnet ({', '.join(sorted(candidates))})")
    if mode == "reservation":
        matching("ReservationId", raw["ReservationId"], _RESERVATION, "an id such as cr-0123456789abcdef0")
        matching("ReservationType", raw["ReservationType"], _RESERVATION_TYPE, "on-demand or capacity-block")
