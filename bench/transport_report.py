"""What the runs over EFA and TCP have measured, as a table and as JSON."""

import dataclasses
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from bench.transport_jobs import EFA, TCP, Transport

NAMES: Mapping[Transport, str] = {EFA: "EFA", TCP: "TCP"}
SHOWS = (
    "Shows: how long whole optimizer steps of this model take on these nodes over EFA and over TCP, with the same "
    "code, pods and data. Before the first step of each run, each rank has proven what its bytes go over."
)
SHOWS_NOT = (
    "Does not show: what the fabric can carry, for a step computes too, and hides part of its communication behind "
    "that; what another model, batch, sharding or instance type would give; single slow steps, for step times are "
    "read ten at a time and each is the mean of its ten. Read the median: the p95 at 60 steps is the slowest ten, and "
    "steps 2 to 10 also wait at the barriers of the byte meter (training/transport_meter.py). TCP's bytes are all "
    "that left the pod's interface, with headers and Ray's own. The program itself was tried on an emulated Kubernetes "
    "only, never on AWS by those who wrote it."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One run's figures: seconds per step, and bytes per step that left rank 0's node (None where `why` says so)."""

    transport: Transport
    name: str
    uri: str
    ranks: int
    step_seconds: float
    step_seconds_p95: float
    tokens_per_second: float
    measured_bytes: float | None
    predicted_bytes: float | None
    why: str | None


# What the table has of each run, with its unit; the last row divides the medians.
COLUMNS: tuple[tuple[str, str, float, str], ...] = (
    ("step_seconds", "s per step, median", 1, ".4f"),
    ("step_seconds_p95", "p95 of tens", 1, ".4f"),
    ("tokens_per_second", "tokens/s", 1, ",.0f"),
    ("measured_bytes", "MB out per step", 1e6, ",.1f"),
    ("predicted_bytes", "predicted", 1e6, ",.1f"),
)


def medians(runs: Sequence[Run], transport: Transport) -> dict[str, float | None]:
    """Return each column's median over the runs of a transport; None where a run lacks the figure."""
    found: dict[str, float | None] = {}
    for field, *_ in COLUMNS:
        values = [getattr(run, field) for run in runs if run.transport == transport]
        found[field] = None if None in values else median(values)
    return found


def ratios(runs: Sequence[Run]) -> dict[str, float | None]:
    """Return EFA's medians as multiples of TCP's."""
    efa, tcp = medians(runs, EFA), medians(runs, TCP)
    pairs = {field: (efa[field], tcp[field]) for field in efa}
    return {field: None if a is None or not b else a / b for field, (a, b) in pairs.items()}


def render(runs: Sequence[Run], title: str) -> Table:
    """One row per run in its order, each transport's medians, and their ratio."""
    table = Table(title=title)
    table.add_column("transport", no_wrap=True)
    for _, head, _, _ in COLUMNS:
        table.add_column(head, justify="right")
    table.add_column("verdict")
    for run in runs:
        cells = [_cell(getattr(run, field), unit, form) for field, _, unit, form in COLUMNS]
        table.add_row(NAMES[run.transport], *cells, f"{run.transport.upper()} on all {run.ranks} ranks")
    table.add_section()
    for transport, name in NAMES.items():
        of_it = medians(runs, transport)
        table.add_row(name, *[_cell(of_it[field], unit, form) for field, _, unit, form in COLUMNS], "median of runs")
    table.add_section()
    table.add_row("EFA / TCP", *[_cell(value, 1, ".3f") for value in ratios(runs).values()], "of the medians")
    return table


def _cell(value: float | None, unit: float, form: str) -> str:
    return "-" if value is None else format(value / unit, form)


def as_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Return all figures and what they say, as JSON values."""
    by_transport = {transport: medians(runs, transport) for transport in NAMES}
    rows = [dataclasses.asdict(run) for run in runs]
    return {"runs": rows, "medians": by_transport, "efa_over_tcp": ratios(runs), "about": [SHOWS, SHOWS_NOT]}
