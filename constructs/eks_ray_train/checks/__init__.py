"""Named checks at synthesis, before anything is written: pure functions from settings and objects to findings."""

from collections.abc import Sequence

from eks_ray_train.checks import versions
from eks_ray_train.checks.counts import counts_agree
from eks_ray_train.checks.finding import Finding, render
from eks_ray_train.checks.fits import pods_fit
from eks_ray_train.checks.job import code_is_there, code_size, operator_names, shell_characters
from eks_ray_train.checks.memory import memory_suffices
from eks_ray_train.checks.pods import Json
from environments.settings import Settings

OBJECT_RULES = (pods_fit, counts_agree, code_is_there, code_size, shell_characters, operator_names)


def check_settings(settings: Settings) -> list[Finding]:
    """Findings from the settings alone: run before any construct exists."""
    return [finding for rule in (*versions.RULES, memory_suffices) for finding in rule(settings)]


def check_objects(settings: Settings, objects: Sequence[Json]) -> list[Finding]:
    """Findings from the Kubernetes objects that the settings led to."""
    return [finding for rule in OBJECT_RULES for finding in rule(settings, objects)]


__all__ = ["Finding", "check_objects", "check_settings", "render"]
