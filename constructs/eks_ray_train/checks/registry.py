"""All rules, in the order in which their findings are listed: causes before consequences."""

from collections.abc import Mapping, Sequence
from datetime import date

from eks_ray_train.checks import (
    capacity,
    cloudformation,
    code,
    counts,
    dates,
    efa,
    fits,
    handlers,
    images,
    kubernetes,
    memory,
    model,
    node_health,
    placement,
    ray_cluster,
    ray_job,
    subnets,
    transport,
    transport_extras,
    zones,
)
from eks_ray_train.checks.finding import Finding
from eks_ray_train.checks.rule import Json, Phase, Rule, Subject
from environments.settings import Settings

_MODULES = (
    kubernetes,
    images,
    zones,
    transport,
    transport_extras,
    memory,
    model,
    counts,
    fits,
    placement,
    code,
    ray_cluster,
    ray_job,
    capacity,
    efa,
    node_health,
    subnets,
    handlers,
    cloudformation,
    dates,
)
RULES: tuple[Rule, ...] = tuple(each for module in _MODULES for each in vars(module).values() if isinstance(each, Rule))


def run(subject: Subject, *phases: Phase) -> list[Finding]:
    """What the rules of these phases find."""
    return [finding for each in RULES if each.phase in phases for finding in each.findings(subject)]


def check_settings(settings: Settings) -> list[Finding]:
    """Findings from the settings alone: run before any construct exists."""
    return run(Subject(settings=settings), Phase.SETTINGS)


def check_objects(settings: Settings, objects: Sequence[Json]) -> list[Finding]:
    """Findings from the Kubernetes objects that the settings led to."""
    return run(Subject(settings=settings, objects=objects), Phase.OBJECTS)


def check_templates(settings: Settings, templates: Mapping[str, Json]) -> list[Finding]:
    """Findings from the synthesised templates, by stack id such as "Gpu"."""
    return run(Subject(settings=settings, templates=templates), Phase.TEMPLATES)


def check_dates(settings: Settings, today: date) -> list[Finding]:
    """Findings that come with time, though nobody changes anything."""
    return run(Subject(settings=settings, today=today), Phase.DATES)
