"""The scan for people: a table that fills while regions answer, or a line each where there is no terminal."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ops.capacity.scan import RegionAnswer
from ops.reporting import say

HEADER = ("region", "zones (Spot placement score)", "vCPUs free of quota", "answer")


class ScanView:
    """Shows each region's answer as it comes; call it with one."""

    def __init__(self, console: Console, regions: Sequence[str], title: str) -> None:
        self._console = console
        self._regions = regions
        self._title = title
        self._answers: dict[str, RegionAnswer] = {}
        self._live: Live | None = None

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show the table while it fills."""
        if not self._console.is_terminal:
            say(self._console, self._title)
            yield
            return
        # Live's own redirection would take the probe's log lines away from notes.kept(), and print them.
        table = self._table()
        with Live(
            table, console=self._console, refresh_per_second=8, redirect_stdout=False, redirect_stderr=False
        ) as self._live:
            yield
            self._live.update(self._table())

    def __call__(self, answer: RegionAnswer) -> None:
        """Show one more answer."""
        self._answers[answer.region] = answer
        if self._live is not None:
            self._live.update(self._table())
        elif not self._console.is_terminal:
            zones, free, verdict = cells(answer)
            text = f"  {answer.region}: {verdict}" + (f"; zones {zones}; vCPUs free {free}" if zones else "")
            say(self._console, text)

    def _table(self) -> Table:
        done = f"{len(self._answers)} of {len(self._regions)} regions"
        table = Table(title=self._title, caption=done if len(self._answers) < len(self._regions) else None)
        for column in HEADER:
            table.add_column(column)
        for region in sorted(self._regions, key=lambda name: _order(self._answers, name)):
            answer = self._answers.get(region)
            table.add_row(region, *(cells(answer) if answer else ("", "", "waiting")))
        return table


def cells(answer: RegionAnswer) -> tuple[str, str, str]:
    """Zones with their scores, the quota, and the verdict."""
    if answer.refused is not None or answer.quota is None:
        return "", "", answer.refused or ""
    offered = [v for v in answer.verdicts if v.facts.offered]
    zones = ", ".join(
        f"{v.facts.zone.removeprefix(answer.region)} ({'-' if v.facts.score is None else v.facts.score})"
        for v in offered
    )
    free = f"{answer.quota.free} of {answer.quota.limit}"
    if answer.usable:
        return zones, free, f"may take them: {len(answer.usable)} zone{'s' if len(answer.usable) > 1 else ''}"
    reasons = dict.fromkeys(v.rejected or "" for v in (offered or answer.verdicts))
    return zones, free, "; ".join(reasons) or "no zones"


def _order(answers: Mapping[str, RegionAnswer], region: str) -> tuple[int, str]:
    answer = answers.get(region)
    return (0 if answer and answer.usable else 1 if answer and answer.refused is None else 2, region)
