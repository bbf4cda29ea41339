"""What a check finds: enough for a reader to act without knowing the check."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One reason not to deploy. ``code`` names the rule, ``field`` the setting or the object that is wrong."""

    code: str
    field: str
    value: object
    expected: str
    remedy: str


def render(findings: Sequence[Finding], *, source: str) -> str:
    """The findings as text; ``source`` names what was checked."""
    problems = f"{len(findings)} problem{'s' if len(findings) != 1 else ''}"
    blocks = [
        f"\n  {finding.field} = {finding.value}   [{finding.code}]"
        f"\n    expected: {finding.expected}\n    to do:    {finding.remedy}"
        for finding in findings
    ]
    return "\n".join([f"{source} cannot work: {problems}", *blocks])
