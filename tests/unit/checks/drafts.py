"""A valid environment to break: its settings, Kubernetes objects and templates, and a day of the calendar."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from eks_ray_train.checks import Finding
from eks_ray_train.checks.registry import run
from eks_ray_train.checks.rule import Phase, Subject
from environments.settings import Settings
from tests.synthesis import manifests, settings_with, synthesise, templates

# Within the standard support of every Kubernetes version that the environments name, and near the prices' date.
TODAY = date(2026, 11, 29)


@dataclass(kw_only=True)
class Draft:
    """What the rules see; a mutant changes one thing in it."""

    settings: Settings
    objects: list[dict[str, Any]]
    templates: dict[str, Any]
    today: date

    def findings(self) -> list[Finding]:
        """What all rules find."""
        subject = Subject(settings=self.settings, objects=self.objects, templates=self.templates, today=self.today)
        return run(subject, *Phase)

    def of_kind(self, kind: str) -> Any:
        """The first object of a kind."""
        return next(obj for obj in self.objects if obj["kind"] == kind)

    def job(self, name: str) -> Any:
        """The pod spec of the Job whose name begins so."""
        return next(
            obj["spec"]["template"]["spec"]
            for obj in self.objects
            if obj["kind"] == "Job" and obj["metadata"]["name"].startswith(name)
        )

    @property
    def head(self) -> Any:
        """The Ray head's group."""
        return self.of_kind("RayCluster")["spec"]["headGroupSpec"]

    @property
    def worker(self) -> Any:
        """The Ray workers' group."""
        return self.of_kind("RayCluster")["spec"]["workerGroupSpecs"][0]

    @property
    def ray_job(self) -> Any:
        """The RayJob's spec."""
        return self.of_kind("RayJob")["spec"]

    def resources(self, stack: str, resource_type: str) -> list[Any]:
        """The properties of a stack's resources of a type."""
        return [
            resource["Properties"]
            for resource in self.templates[stack]["Resources"].values()
            if resource["Type"] == resource_type
        ]


def draft(changes: Mapping[str, Any] | None = None, base: Mapping[str, Any] | None = None) -> Draft:
    """dev, or what ``base`` makes of it; ``changes`` are to the settings alone, and come after it."""
    found = copy.deepcopy(_synthesised(json.dumps(base)) if base else templates("dev"))
    return Draft(
        settings=settings_with({**(base or {}), **(changes or {})}),
        objects=objects_of(found),
        templates=found,
        today=TODAY,
    )


@cache
def _synthesised(base: str) -> dict[str, Any]:
    return synthesise(settings_with(json.loads(base)))


def objects_of(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The Kubernetes objects in some templates."""
    return [obj for stack in ("Gpu", "Training") for obj in manifests(found[stack])]


def amounts(container: Any, name: str, value: str, *kinds: str) -> None:
    """Sets what a container requests and may use."""
    for kind in kinds or ("requests", "limits"):
        container["resources"][kind][name] = value


def padded(properties: dict[str, Any], size: int) -> None:
    """Makes a resource's properties larger than ``size`` bytes."""
    properties["Padding"] = "x" * size


def values_of(properties: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Replaces a chart's values."""
    properties["Values"] = json.dumps(values)
