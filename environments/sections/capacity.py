"""[capacity]"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from eks_ray_train.capacity_probe.search import Search
from environments.refusals import Misfit
from environments.sections.section import Section, Zone

_HOLD_MINUTES = 60
_READ_IN_MODES = {
    "zones": ("hold", "probe", "offerings"),
    "exclude_zones": ("hold", "probe", "offerings"),
    "hold_minutes": ("hold",),
    "zone": ("zone",),
    "reservation_id": ("reservation",),
    "reservation_type": ("reservation",),
}


class Capacity(Section):
    """How the Availability Zone of the GPU nodes is chosen."""

    mode: Literal["hold", "probe", "offerings", "zone", "reservation"] = Field(
        description="Write hold (the capacity stays reserved until the nodes run), probe (reserved and given back at "
        "once), offerings (only read), zone (one that you name) or reservation (one that you have)."
    )
    zones: tuple[Zone, ...] = Field(
        default=(), description="List the zones of network.availability_zones to look in, or leave it out for all."
    )
    exclude_zones: tuple[Zone, ...] = Field(
        default=(), description="List zones to pass over, such as one whose capacity failed a deploy."
    )
    hold_minutes: int | None = Field(
        default=None,
        ge=15,
        le=720,
        description="With mode hold, give the minutes for which capacity stays reserved, 15 to 720: long enough for a "
        "whole deploy. Else remove it.",
    )
    zone: Zone | None = Field(default=None, description="With mode zone, name one of network.availability_zones.")
    reservation_id: str | None = Field(
        default=None,
        pattern=r"^cr-[0-9a-f]{8,17}$",
        description="With mode reservation, name it, such as cr-0123456789abcdef0.",
    )
    reservation_type: Literal["on-demand", "capacity-block"] | None = Field(
        default=None, description="With mode reservation, write on-demand (the default) or capacity-block."
    )
    force_token: str | None = Field(
        default=None,
        description="Change it to any new text to have the zone chosen again; that may replace the GPU nodes.",
    )

    @property
    def search(self) -> Search:
        """What the capacity probe is told, defaults filled in."""
        return Search(
            mode=self.mode,
            zones=self.zones,
            exclude_zones=self.exclude_zones,
            hold_minutes=(self.hold_minutes or _HOLD_MINUTES) if self.mode == "hold" else None,
            zone=self.zone,
            reservation_id=self.reservation_id,
            reservation_type=(self.reservation_type or "on-demand") if self.mode == "reservation" else None,
            force_token=self.force_token,
        )

    def _misfits(self) -> Iterator[Misfit]:
        for field, modes in _READ_IN_MODES.items():
            value = getattr(self, field)
            if value and self.mode not in modes:
                yield Misfit(
                    field=f"capacity.{field}",
                    value=value,
                    expected=f"none with mode {self.mode}, which does not read it; it is for {', '.join(modes)}",
                    remedy="remove it",
                )
        for field in ("zone", "reservation_id"):
            if self.mode in _READ_IN_MODES[field] and getattr(self, field) is None:
                yield Misfit(
                    field=f"capacity.{field}",
                    value=None,
                    expected=f"one with mode {self.mode}",
                    remedy=f'{type(self).model_fields[field].description} Without one, write mode = "hold".',
                )
