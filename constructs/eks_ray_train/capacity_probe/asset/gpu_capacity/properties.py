"""The custom resource's properties: names, types and checks.

CloudFormation turns every value into a string before the function sees it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ProbeError

STACK_TAG = "eks-ray-train:stack"
"""Key of the tag that marks a reservation as one of this stack's; its value is the stack's name."""

MODE_NAMES = ("probe", "zone")

DECIDING = ("InstanceType", "Mode", "Zone", "PlacementGroupArn", "ForceToken")
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
_OPTIONAL = {"Zone", "PlacementGroupArn", "ForceToken"}

_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_QUOTA_CODE = re.compile(r"L-[0-9A-F]{8}")
_FAMILY = re.compile(r"[a-z]+")
_ZONE = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9][a-z0-9-]*[a-z]")
_SUBNET = re.compile(r"subnet-[0-9a-f]+")
_PLACEMENT_GROUP = re.compile(r"arn:aws[a-z-]*:ec2:[a-z0-9-]+:[0-9]{12}:placement-group/.{1,255}")


@dataclass(frozen=True, kw_only=True)
class Properties:
    """What is asked for. ``zone`` is set in mode ``zone`` only; ``tags`` hold ``STACK_TAG``."""

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

    @property
    def vcpus_needed(self) -> int:
        """Return the vCPUs of the whole group."""
        return self.count * self.vcpus_per_instance

    @property
    def wanted(self) -> str:
        """Return the group as people write it: ``2 x g6.12xlarge``."""
        return f"{self.count} x {self.instance_type}"


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

    subnets = _mapping(raw, "SubnetsByZone")
    for zone, subnet in subnets.items():
        _matching(f"SubnetsByZone key {zone}", zone, _ZONE, "an Availability Zone such as us-east-2a")
        _matching(f"SubnetsByZone.{zone}", subnet, _SUBNET, "a subnet id such as subnet-0123456789abcdef0")
    families = raw["QuotaFamilies"]
    if not isinstance(families, list) or not families:
        raise _wrong("QuotaFamilies", families, "a list of instance family prefixes such as g, vt")
    tags = _mapping(raw, "Tags")
    if not tags.get(STACK_TAG):
        raise _wrong("Tags", tags, f"the tag {STACK_TAG} with the stack's name, by which leftovers are found")
    placement_group = raw.get("PlacementGroupArn")
    if placement_group is not None:
        _matching("PlacementGroupArn", placement_group, _PLACEMENT_GROUP, "the ARN of a placement group")
    force_token = raw.get("ForceToken")
    if force_token is not None and not isinstance(force_token, str):
        raise _wrong("ForceToken", force_token, "a string")
    check_mode(raw["Mode"], raw.get("Zone"), subnets)
    return Properties(
        instance_type=_matching("InstanceType", raw["InstanceType"], _INSTANCE_TYPE, "a type such as g6.12xlarge"),
        count=_number(raw, "Count"),
        vcpus_per_instance=_number(raw, "VcpusPerInstance"),
        quota_code=_matching("QuotaCode", raw["QuotaCode"], _QUOTA_CODE, "a code such as L-DB2E81BA"),
        quota_families=tuple(
            _matching("QuotaFamilies", family, _FAMILY, "prefixes of letters, such as g") for family in families
        ),
        mode=raw["Mode"],
        zone=raw.get("Zone"),
        subnets_by_zone=subnets,
        placement_group_arn=placement_group,
        tags=tags,
    )


def check_mode(mode: object, zone: object, candidates: Collection[str]) -> None:
    """Check the mode, and the zone that goes with mode ``zone`` and with no other.

    Raises ProbeError. Also called while the template is made, before anything is deployed.
    """
    if mode not in MODE_NAMES:
        raise _wrong("Mode", mode, f"one of {', '.join(MODE_NAMES)}")
    if mode == "zone" and zone not in candidates:
        raise _wrong("Zone", zone, f"one of the zones that have a subnet ({', '.join(sorted(candidates))})")
    if mode != "zone" and zone is not None:
        raise _wrong("Zone", zone, f"none in mode {mode}, which chooses the zone itself")


def _wrong(name: str, value: object, expected: str) -> ProbeError:
    return ProbeError("property", f"{name} is {value!r}: expected {expected}.")


def _matching(name: str, value: object, pattern: re.Pattern[str], expected: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _wrong(name, value, expected)
    return value


def _number(raw: Mapping[str, Any], name: str) -> int:
    return int(_matching(name, raw[name], _WHOLE_NUMBER, "a whole number from 1 to 999999, as a string"))


def _mapping(raw: Mapping[str, Any], name: str) -> dict[str, str]:
    value = raw[name]
    if not isinstance(value, dict) or not value or not all(isinstance(v, str) for v in value.values()):
        raise _wrong(name, value, "a map of strings with at least one entry")
    return value
