"""How the capacity probe is to look for a zone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Search:
    """The mode and what belongs to it; what a mode would ignore is refused when the probe is made.

    ``hold_minutes`` belongs to mode ``hold``, ``zone`` to ``zone``, ``reservation_id`` and ``reservation_type`` to
    ``reservation``, ``zones`` (all that have a subnet where it is empty) and ``exclude_zones`` to the modes that
    search. Another ``force_token``, never used before, has the zone chosen again.
    """

    mode: str
    zones: tuple[str, ...] = ()
    exclude_zones: tuple[str, ...] = ()
    hold_minutes: int | None = None
    zone: str | None = None
    reservation_id: str | None = None
    reservation_type: Literal["on-demand", "capacity-block"] | None = None
    force_token: str | None = None

    def candidates(self, subnets_by_zone: Mapping[str, str]) -> dict[str, str]:
        """The zones to look in, with their subnets; excluded ones are among them, and are answered for."""
        return {z: subnet for z, subnet in subnets_by_zone.items() if not self.zones or z in self.zones}
