"""A mutant: a valid environment with one small change, and the code of the rule that the change breaks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.checks.drafts import Draft, draft


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A broken environment, and the code of the rule that it breaks."""

    code: str
    name: str
    make: Callable[[], Draft]


def settings_mutant(code: str, changes: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> Mutant:
    name = ", ".join(f"{path}={value}" for path, value in changes.items())
    return Mutant(code=code, name=name[:60], make=lambda: draft(changes, base))


def mutant(code: str, name: str, change: Callable[[Draft], Any]) -> Mutant:
    def make() -> Draft:
        broken = draft()
        change(broken)
        return broken

    return Mutant(code=code, name=name, make=make)
