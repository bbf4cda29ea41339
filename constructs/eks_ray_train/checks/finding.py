"""What a check finds: enough for a reader to act without knowing the check."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: it cannot work, and synthesis refuses. WARNING: it can, and most who write it do not mean it."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a rule sees wrong. ``field`` names the setting, or the object and the field in it."""

    field: str
    value: object
    expected: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A problem with the code and severity of the rule that saw it."""

    code: str
    severity: Severity
    field: str
    value: object
    expected: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"{self.field} = {self.value}   [{self.code}]\n    expected: {self.expected}\n    to do:    {self.remedy}"
        )


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """Those that refuse."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def warnings(findings: Sequence[Finding]) -> list[Finding]:
    """Those that do not."""
    return [finding for finding in findings if finding.severity is Severity.WARNING]


def render(findings: Sequence[Finding], *, source: str) -> str:
    """The findings as text, errors first; ``source`` names what was checked."""
    refused, others = errors(findings), warnings(findings)
    blocks = []
    if refused:
        blocks += [f"{source} cannot work: {_count(refused, 'problem')}", *map(_block, refused)]
    if others:
        blocks += [f"{source} can be deployed, but: {_count(others, 'warning')}" if not refused else "\nAlso:"]
        blocks += map(_block, others)
    return "\n".join(blocks)


def _block(finding: Finding) -> str:
    return f"\n  {finding}"


def _count(findings: Sequence[Finding], noun: str) -> str:
    return f"{len(findings)} {noun}{'s' if len(findings) != 1 else ''}"
