"""When an update keeps the zone that was chosen before.

The node group's subnets follow this resource, and EKS replaces a node group whose subnets change: a zone must not
change because capacity looks different today. The decision is written into the physical id,

    <zone>/<subnet id>/<digest of the inputs that decide>/<hold>[,<the id before>]

because CloudFormation undoes a failed stack update with a second Update, in which old and new properties have changed
places. After a failed probe the id still carries the digest of the properties that come back, so the zone is kept.
After a probe that succeeded in a stack whose later resources failed, the id before is the way back. Without them the
undoing would probe again, and fail where the update failed: UPDATE_ROLLBACK_FAILED.

The way back is for CloudFormation only. A user who takes inputs back has no nodes in the zone before any more: that
update chooses again, and the event is the same. The stack's state tells them apart.

``hold`` is a tag of the reservations made for a choice: the Delete that CloudFormation sends for an old id must not
cancel what a newer one holds.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .properties import DECIDING, Properties

_LONGEST_ID = 1000  # CloudFormation takes 1,024 characters


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A zone, its subnet, the digest of the inputs with which it was chosen, and the hold of its reservations."""

    zone: str
    subnet_id: str
    digest: str
    hold: str

    def physical_id(self, before: str = "") -> str:
        """Return the id that CloudFormation keeps for the resource, ``before`` being the id in force until now.

        All of it, so that an undoing can give it back; where that gets too long, its choice alone.
        """
        own = f"{self.zone}/{self.subnet_id}/{self.digest}/{self.hold}"
        if not before:
            return own
        whole = f"{own},{before}"
        return whole if len(whole) <= _LONGEST_ID else f"{own},{before.split(',')[0]}"

    def stands(self, wanted: Properties) -> bool:
        """Tell whether the zone is still a candidate, with the same subnet, and no other zone is named."""
        return wanted.candidates.get(self.zone) == self.subnet_id and wanted.zone in (None, self.zone)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The choice that stays, the id to answer with, and whether the update undoes one whose choice is not in force."""

    choice: Choice
    physical_id: str
    undoes: bool


def choose(zone: str, subnet_id: str, raw: Mapping[str, Any], hold: str) -> Choice:
    """Return the choice of a zone under the properties ``raw``."""
    return Choice(zone=zone, subnet_id=subnet_id, digest=_digest(raw), hold=hold)


def hold_of(request_id: str) -> str:
    """Return the hold of the reservations that a request makes: the same when the request is tried again."""
    return hashlib.sha256(request_id.encode()).hexdigest()[:12]


def current(physical_id: str) -> Choice | None:
    """Return the choice in force, or None for an id that this code did not write."""
    fields = physical_id.split(",")[0].split("/")
    if len(fields) != 4:
        return None
    return Choice(zone=fields[0], subnet_id=fields[1], digest=fields[2], hold=fields[3])


def kept(
    physical_id: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    wanted: Properties,
    undoing: Callable[[], bool],
) -> Kept | None:
    """Return what an update keeps, or None when it must choose again; ``wanted`` is ``new``, parsed.

    ``undoing`` tells whether CloudFormation is undoing an update, and is asked only where that matters.
    """
    id_before = physical_id.partition(",")[2]
    now, before = current(physical_id), current(id_before)
    digest, digest_before = _digest(new), _digest(old)
    if now and now.stands(wanted) and digest in (now.digest, digest_before):
        return Kept(choice=now, physical_id=physical_id, undoes=digest != digest_before)
    if before and before.stands(wanted) and digest == before.digest and undoing():
        return Kept(choice=before, physical_id=id_before, undoes=True)
    return None


def _digest(raw: Mapping[str, Any]) -> str:
    # Absent and empty inputs are left out, so that a property that is added to DECIDING later moves nobody's nodes.
    inputs = {name: raw[name] for name in DECIDING if raw.get(name)}
    inputs["zones"] = sorted(raw.get("SubnetsByZone", {}))
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]
