"""``raytrain plan``: what an environment costs, how long its first deploy takes, and its training, before any of it."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from eks_ray_train.capacity_probe.exposure import most_minutes, most_usd
from eks_ray_train.costs import Part, hourly, known_total
from environments.settings import Settings
from ops.environment_file import read
from ops.errors import ExitCode
from ops.reporting import reported
from ops.timeline.durations import read_durations
from ops.timeline.outlook import Outlook, bases, outlook, sample_span
from ops.timeline.view import show_timeline
from ops.training_outlook import training_outlook
from ops.training_view import show_training

CONCURRENCIES = (1, 3)


@reported
def plan(environment: Annotated[str, typer.Argument(metavar="ENV", help="The environment to plan.")]) -> None:
    """Say what an environment costs by the hour, how long its first deploy takes, and what its training takes.

    It needs no AWS credentials: the templates are synthesised here, durations are from a table with sources, and the
    training is arithmetic.
    """
    # Half a second, which --help need not take.
    from app import InvalidEnvironmentError
    from ops.synthesis import synthesise

    settings = read(environment)
    try:
        found = synthesise(settings)
    except InvalidEnvironmentError as error:
        typer.echo(f"\n{error}\n", err=True)
        raise typer.Exit(ExitCode.FAILED) from None
    console = Console(file=sys.stdout)
    durations = read_durations()
    outlooks = [
        outlook(found.templates, found.needs, durations, concurrency=concurrency) for concurrency in CONCURRENCIES
    ]
    show_costs(console, settings, outlooks[-1])
    show_timeline(console, outlooks, bases(outlooks[-1].path, found.templates, durations), sample_span(durations))
    show_training(console, training_outlook(settings))


def show_costs(console: Console, settings: Settings, course: Outlook) -> None:
    """The bill by the hour, what the deploy itself costs on GPU nodes, and the most that the held capacity can cost."""
    parts = hourly(settings)
    total, unknown = known_total(parts)
    table = Table(title=f"{settings.cluster_name}: US dollars per hour", title_justify="left", box=None, pad_edge=False)
    for heading in ("part", "count", "each", "per hour"):
        table.add_column(heading, justify="left" if heading == "part" else "right")
    for part in parts:
        table.add_row(part.name, str(part.quantity), _dollars(part.usd_per_hour), _dollars(part.total))
    table.add_row("[bold]sum[/bold]", "", "", f"[bold]{'more than ' if unknown else ''}{total:.4f}[/bold]")
    console.print(table)
    for line in _more(settings, parts, course):
        console.print(line, highlight=False)


def _more(settings: Settings, parts: list[Part], course: Outlook) -> list[str]:
    gpu, capacity = settings.gpu_nodes, settings.capacity
    price = next(part.usd_per_hour for part in parts if part.name == gpu.instance_type)
    if price is None:
        return [f"No On-Demand price is known of {gpu.instance_type}: look it up before you deploy."]
    nodes = next(each for each in course.placed.values() if each.step.stack == "Gpu" and "Nodegroup" in each.step.label)
    waiting = (course.ready.typical - nodes.start) / 3600 * gpu.count * price
    lines = [
        f"The GPU nodes bill from about minute {nodes.start // 60} of the deploy: ${waiting:.2f} until Ray's pods have "
        "their image."
    ]
    if settings.cost.idle_minutes is not None:
        rest, unknown = known_total([part for part in parts if part.name != gpu.instance_type])
        lines.append(
            f"When nobody has trained for {settings.cost.idle_minutes} minutes the GPU nodes are scaled to zero, and "
            f"{'more than ' if unknown else ''}${rest:.2f} an hour is left."
        )
    minutes = most_minutes(capacity.mode, capacity.search.hold_minutes)
    if minutes:
        most = most_usd(capacity.mode, capacity.search.hold_minutes, count=gpu.count, usd_per_hour=price)
        lines.append(
            f"Were the deploy to die, the capacity that it reserved would bill for {minutes} minutes at most: "
            f"${most:.2f}. EC2 ends it."
        )
    return lines


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.4f}"
