"""``raytrain check``: every rule on one environment, without credentials."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Annotated, Any

import typer
from rich.console import Console

from eks_ray_train.checks import (
    RULES,
    Finding,
    Phase,
    Severity,
    check_dates,
    check_objects,
    check_settings,
    check_templates,
    errors,
    notes,
    warnings,
)
from environments.loading import SettingsError
from environments.settings import Settings
from ops.check_view import show, show_rules
from ops.environment_file import read
from ops.errors import ExitCode, OpsError
from ops.reporting import reported


@reported
def check(
    environment: Annotated[str, typer.Argument(metavar="[ENV]", help="The environment to check.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    today: Annotated[
        str, typer.Option(metavar="YYYY-MM-DD", help="Check as of this day instead of today's date.")
    ] = "",
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules, and check nothing.")] = False,
) -> None:
    """Check an environment before it costs anything: settings, Kubernetes objects, templates and dates.

    Errors are what cannot work, and `cdk synth` refuses too; only what a day of the calendar brings it never looks at.
    Warnings can be meant. It needs no AWS credentials.
    """
    console = Console(file=sys.stdout)
    if list_rules:
        show_rules(console, RULES)
        return
    if not environment:
        raise OpsError("ENV is missing", "an environment, such as dev", "raytrain check dev", ExitCode.USAGE)
    day = _day(today)
    try:
        settings = read(environment)
    except SettingsError as error:
        if not as_json:
            typer.echo(f"\n{error}\n\n{len(RULES)} rules more can be tried once this is mended.\n", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        typer.echo(json.dumps(_refused(environment, day, error), indent=2))
        raise typer.Exit(ExitCode.USAGE) from None
    findings, phases = find(settings, day)
    tried = sum(rule.phase in phases for rule in RULES)
    if as_json:
        typer.echo(json.dumps(_document(settings, day, findings, tried), indent=2))
    else:
        show(console, settings, findings, tried=tried, rules=len(RULES))
    raise typer.Exit(ExitCode.FAILED if errors(findings) else ExitCode.OK)


def find(settings: Settings, today: date) -> tuple[list[Finding], tuple[Phase, ...]]:
    """What the rules find, and the phases that could be looked at: errors keep the later ones from existing."""
    findings = [*check_settings(settings), *check_dates(settings, today)]
    if errors(check_settings(settings)):
        return findings, (Phase.SETTINGS, Phase.DATES)
    # Half a second, which --help and --list need not take.
    from app import InvalidEnvironmentError
    from ops.synthesis import synthesise

    try:
        found = synthesise(settings)
    except InvalidEnvironmentError as error:
        return [*findings, *error.findings], (Phase.SETTINGS, Phase.DATES, Phase.OBJECTS)
    findings += check_objects(settings, found.objects)
    findings += check_templates(settings, found.templates)
    return findings, tuple(Phase)


def _day(text: str) -> date:
    if not text:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise OpsError(
            f"--today = {text!r}", "a day such as 2026-11-29", "mend it, or leave it out", ExitCode.USAGE
        ) from None


def _refused(environment: str, today: date, error: SettingsError) -> dict[str, Any]:
    # A file that does not load, in the form of one that does; no rule could be tried.
    return {
        "environment": environment,
        "today": today.isoformat(),
        "rules": len(RULES),
        "tried": 0,
        "errors": [
            {
                "code": "settings",
                "severity": str(Severity.ERROR),
                "field": refusal.field,
                "value": refusal.value,
                "expected": refusal.expected,
                "remedy": refusal.remedy,
            }
            for refusal in error.refusals
        ],
        "warnings": [],
        "notes": [],
    }


def _document(settings: Settings, today: date, findings: list[Finding], tried: int) -> dict[str, Any]:
    return {
        "environment": settings.name,
        "today": today.isoformat(),
        "rules": len(RULES),
        "tried": tried,
        "errors": [_plain(finding) for finding in errors(findings)],
        "warnings": [_plain(finding) for finding in warnings(findings)],
        "notes": [asdict(note) for note in notes(settings)],
    }


def _plain(finding: Finding) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(finding).items()}
