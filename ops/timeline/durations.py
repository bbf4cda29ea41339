"""Typical durations, from durations.toml, each with what it rests on."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("durations.toml")


@dataclass(frozen=True, kw_only=True)
class Duration:
    """How long something typically takes, in seconds; ``range`` is what the sources span, or a guess as wide."""

    type: str
    stack: str
    seconds: int
    range: tuple[int, int]
    source: str
    estimate: bool

    @property
    def low(self) -> int:
        """The shortest that a source has, or that we would expect."""
        return self.range[0]

    @property
    def high(self) -> int:
        """The longest."""
        return self.range[1]

    def fits(self, resource_type: str, stack: str) -> bool:
        """Whether it is about such a resource; a type that ends in :: is about all that begin so."""
        same = resource_type.startswith(self.type) if self.type.endswith("::") else resource_type == self.type
        return same and self.stack in ("", stack)


@dataclass(frozen=True, kw_only=True)
class Durations:
    """The table: ``resources`` in the order in which they are looked through, ``sample`` as its scripts run."""

    resources: tuple[Duration, ...]
    other: Duration
    image_pull: Duration
    sample: tuple[Duration, ...]

    def of(self, resource_type: str, stack: str) -> Duration:
        """The first row that fits, else the one for everything else."""
        return next((row for row in self.resources if row.fits(resource_type, stack)), self.other)


@cache
def read_durations() -> Durations:
    """The table as shipped."""
    document = tomllib.loads(_TABLE.read_text())
    return Durations(
        resources=tuple(_row(row) for row in document["resources"]),
        other=_row({"type": "other", **document["other"]}),
        image_pull=_row({"type": "image pull", **document["image_pull"]}),
        sample=tuple(_row({"type": row["name"], **row}) for row in document["sample"]),
    )


def _row(row: Mapping[str, Any]) -> Duration:
    low, high = row["range"]
    return Duration(
        type=row["type"],
        stack=row.get("stack", ""),
        seconds=row["seconds"],
        range=(low, high),
        source=row["source"],
        estimate=row.get("estimate", False),
    )
