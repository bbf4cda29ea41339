"""Rules: one function, one code, one line of description."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from eks_ray_train.checks.finding import Finding, Problem, Severity
from environments.settings import Settings

Json = Mapping[str, Any]


class Phase(StrEnum):
    """What a rule looks at, in the order in which it comes to be.

    SETTINGS exist before any construct. OBJECTS are the Kubernetes objects, TEMPLATES what CloudFormation gets. DATES
    compares with a day of the calendar, which synthesis never does: the same commit gives the same answer.
    """

    SETTINGS = "settings"
    OBJECTS = "objects"
    TEMPLATES = "templates"
    DATES = "dates"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is checked, as far as it exists: see ``Phase``. ``templates`` are by stack id, such as "Gpu"."""

    settings: Settings
    objects: Sequence[Json] = ()
    templates: Mapping[str, Json] = field(default_factory=dict)
    today: date | None = None

    def of_kind(self, kind: str) -> Iterator[Any]:
        """The Kubernetes objects of a kind."""
        return (obj for obj in self.objects if obj["kind"] == kind)

    def resources(self, resource_type: str) -> Iterator[tuple[str, str, Any]]:
        """Stack id, logical id and properties of every resource whose type begins so."""
        for stack, template in self.templates.items():
            for logical_id, resource in template.get("Resources", {}).items():
                if resource["Type"].startswith(resource_type):
                    yield stack, logical_id, resource.get("Properties", {})


Check = Callable[[Subject], Iterator[Problem]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A named check."""

    code: str
    phase: Phase
    severity: Severity
    description: str
    check: Check

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """The problems that it sees, under its code."""
        for problem in self.check(subject):
            yield Finding(code=self.code, severity=self.severity, **vars(problem))


def rule(code: str, description: str, *, phase: Phase, severity: Severity = Severity.ERROR) -> Callable[[Check], Rule]:
    """Makes the decorated function the rule ``code``."""

    def named(check: Check) -> Rule:
        return Rule(code=code, phase=phase, severity=severity, description=description, check=check)

    return named
