"""What a deploy would do, and what it costs: everything that a person is asked to agree to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eks_ray_train.capacity_probe.exposure import most_usd
from eks_ray_train.costs import Part, hourly, known_total
from environments.settings import Settings
from ops.account import Identity
from ops.deploy.failure import PROBE
from ops.deploy.stacks import ORDER, Stack


@dataclass(frozen=True, kw_only=True)
class Plan:
    """``actions`` by stack id; ``replaces`` is the run that a new one takes the place of, with its name."""

    settings: Settings
    who: Identity
    stacks: Mapping[str, Stack]
    actions: Mapping[str, str]
    parts: list[Part]
    hold_usd: float | None
    replaces: tuple[str, str] | None
    notes: list[str]

    @property
    def total(self) -> float:
        """US dollars per hour of everything whose price is known."""
        return known_total(self.parts)[0]

    @property
    def unpriced(self) -> list[str]:
        """The parts without a known price."""
        return known_total(self.parts)[1]


def make_plan(
    settings: Settings,
    who: Identity,
    stacks: Mapping[str, Stack],
    templates: Mapping[str, Any],
    deployed: Mapping[str, Any],
) -> Plan:
    """Compare what is written with what is deployed; templates are by stack id, None for a stack that is not there."""
    return Plan(
        settings=settings,
        who=who,
        stacks=stacks,
        actions={id: _action(stacks[id], templates.get(id), deployed.get(id)) for id in ORDER},
        parts=hourly(settings),
        hold_usd=_most_of_hold(settings, instances_to_reserve(templates.get("Gpu"), deployed.get("Gpu"))),
        replaces=_replaced(stacks["Training"], templates.get("Training", {})),
        notes=_notes(settings),
    )


def _action(stack: Stack, template: Any, deployed: Any) -> str:
    if stack.failed_before:
        return "create (what is left of the failed one is deleted first)"
    if stack.paused and not stack.works:
        return "create (what the failed one made stays, the rest follows)"
    if not stack.works:
        return "create"
    return "unchanged" if template == deployed else "update"


def instances_to_reserve(template: Any, deployed: Any) -> int:
    """The most instances that the probe may reserve when ``template`` takes the place of ``deployed``.

    All of a new group, or of one whose zone may be chosen anew: any input but its size can have that done. Of a group
    that only grows, what is added. None of one that stays, or shrinks.
    """
    after, before = _probe_inputs(template), _probe_inputs(deployed)
    if after is None:
        return 0
    size = int(after["Count"])
    if before is None or _without_size(after) != _without_size(before):
        return size
    return max(0, size - int(before["Count"]))


def _probe_inputs(template: Any) -> dict[str, Any] | None:
    resources = (template or {}).get("Resources", {}).values()
    return next((each["Properties"] for each in resources if each.get("Type") == PROBE), None)


def _without_size(inputs: Mapping[str, Any]) -> dict[str, Any]:
    # The code of the function and how long a reservation lasts choose no zone either.
    return {name: value for name, value in inputs.items() if name not in ("Count", "HoldMinutes", "ServiceToken")}


def _most_of_hold(settings: Settings, instances: int) -> float | None:
    """US dollars that what the probe reserves costs at most when no node fills it; None where nothing is reserved."""
    capacity, gpu = settings.capacity.search, settings.gpu_nodes
    price = gpu.instance.usd_per_hour
    if price is None:
        return None
    return most_usd(capacity.mode, capacity.hold_minutes, count=instances, usd_per_hour=price) or None


def _replaced(training: Stack, template: Mapping[str, Any]) -> tuple[str, str] | None:
    before = training.output("RunName") if training.may_cost else None
    after = next((o["Value"] for key, o in template.get("Outputs", {}).items() if "RunName" in key), None)
    return (before, after) if before and after and before != after else None


def _notes(settings: Settings) -> list[str]:
    notes = []
    if not settings.cluster.public_endpoint_cidrs:
        notes.append(
            "The Kubernetes API will be private (cluster.public_endpoint_cidrs is empty): kubectl works only from "
            "inside the VPC. The deploy itself does not need it."
        )
    if settings.termination_protection:
        notes.append("termination_protection is on: destroy works only after it is off and deployed.")
    return notes
