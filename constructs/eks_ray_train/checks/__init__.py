"""Named checks: pure functions from settings, Kubernetes objects and templates to findings."""

from eks_ray_train.checks.finding import Finding, Severity, errors, render, warnings
from eks_ray_train.checks.notes import Note, notes
from eks_ray_train.checks.registry import RULES, check_dates, check_objects, check_settings, check_templates
from eks_ray_train.checks.rule import Phase, Rule

__all__ = [
    "RULES",
    "Finding",
    "Note",
    "Phase",
    "Rule",
    "Severity",
    "check_dates",
    "check_objects",
    "check_settings",
    "check_templates",
    "errors",
    "notes",
    "render",
    "warnings",
]
