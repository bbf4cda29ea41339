"""When an update keeps the zone that was chosen before.

The node group's subnets follow this resource, and EKS replaces a node group whose subnets change: a zone must not
change because capacity looks different today. The decision is written into the physical id,

    <zone>/<subnet id>/<digest of the inputs that decide>[,<the same of the choice before>]

because CloudFormation undoes a failed stack update with a second Update, in which old and new properties have changed
places, and nothing says so. After a failed probe the id still carries the digest of the properties that come back, so
the zone is kept. After a probe that succeeded in a stack whose later resources failed, the second half of the id is the
way back. Without them the undoing would probe again, and fail where the update failed: UPDATE_ROLLBACK_FAILED.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .properties import DECIDING


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A zone, its subnet and the digest of the inputs with which it was chosen."""

    zone: str
    subnet_id: str
    digest: str

    def physical_id(self, before: "Choice | None" = None) -> str:
        """Return the id that CloudFormation keeps for the resource."""
        own = f"{self.zone}/{self.subnet_id}/{self.digest}"
        return own if before is None else f"{own},{before.physical_id()}"

    def stands(self, subnets_by_zone: Mapping[str, str]) -> bool:
        """Tell whether the zone is still a candidate, with the same subnet."""
        return subnets_by_zone.get(self.zone) == self.subnet_id


def choose(zone: str, subnet_id: str, raw: Mapping[str, Any]) -> Choice:
    """Return the choice of a zone under the properties ``raw``."""
    return Choice(zone=zone, subnet_id=subnet_id, digest=_digest(raw))


def current(physical_id: str) -> Choice | None:
    """Return the choice in force, or None for an id that this code did not write."""
    return _choices(physical_id)[0]


def kept(physical_id: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Choice, str] | None:
    """Return the choice that an update keeps and the id to answer with, or None when it must choose again."""
    now, before = _choices(physical_id)
    digest, subnets = _digest(new), new["SubnetsByZone"]
    if now and now.stands(subnets) and digest in (now.digest, _digest(old)):
        return now, physical_id
    if before and before.stands(subnets) and digest == before.digest:
        return before, before.physical_id()
    return None


def _digest(raw: Mapping[str, Any]) -> str:
    # Absent and empty inputs are left out, so that a property that is added to DECIDING later moves nobody's nodes.
    inputs = {name: raw[name] for name in DECIDING if raw.get(name)}
    inputs["zones"] = sorted(raw.get("SubnetsByZone", {}))
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def _choices(physical_id: str) -> tuple[Choice | None, Choice | None]:
    choices: list[Choice | None] = []
    for part in physical_id.split(","):
        fields = part.split("/")
        choices.append(Choice(zone=fields[0], subnet_id=fields[1], digest=fields[2]) if len(fields) == 3 else None)
    return choices[0], choices[1] if len(choices) > 1 else None
