"""The timeline as text: a bar for each stack and each long step of the critical path."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ops.timeline.durations import Duration
from ops.timeline.outlook import Outlook, Span
from ops.timeline.simulate import Placed

_WIDTH = 48
# Shorter steps are summed up: forty of five seconds say nothing.
_SHOWN_SECONDS = 30


def show_timeline(
    console: Console, outlooks: Sequence[Outlook], based: Sequence[tuple[Placed, Duration]], sample: Span
) -> None:
    """The comparison, the bars of the last outlook, and what its path rests on."""
    last = outlooks[-1]
    console.print("\n[bold]A cold deploy[/bold], from typical durations; nothing of it was measured with this app")
    console.print(_comparison(outlooks, sample))
    console.print(_bars(last))
    known = sum(placed.step.seconds for placed, row in based if not row.estimate)
    console.print(
        f"Of the {_minutes(last.ready.typical)} on the critical path, {_minutes(known)} have a source and the rest are "
        "estimates (ops/timeline/durations.toml).",
        highlight=False,
    )
    for row in _sources(based):
        console.print(f"  [dim]{escape(row.type)}: {row.seconds} s. {escape(row.source)}.[/dim]", highlight=False)


def _comparison(outlooks: Sequence[Outlook], sample: Span) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for outlook in outlooks:
        table.add_column(f"--concurrency {outlook.concurrency}", justify="right")
    table.add_column("the AWS sample's scripts", justify="right")
    table.add_row("stacks complete", *(_span(outlook.deployed) for outlook in outlooks), "")
    table.add_row("Ray's pods have their image", *(_span(outlook.ready) for outlook in outlooks), _span(sample))
    return table


def _bars(outlook: Outlook) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("from", justify="right")
    table.add_column("for", justify="right")
    table.add_column(f"with --concurrency {outlook.concurrency}", no_wrap=True)
    table.add_column("")
    end = outlook.ready.typical
    stacks = list(dict.fromkeys(each.step.stack for each in outlook.placed.values() if each.step.stack))
    for stack in sorted(stacks, key=outlook.of_stack):
        start, stop = outlook.of_stack(stack)
        table.add_row(_clock(start), _clock(stop - start), f"[bold]{_bar(start, stop, end, '━')}[/bold]", stack)
        for each in outlook.path:
            if each.step.stack == stack and each.step.seconds >= _SHOWN_SECONDS:
                table.add_row(*_line(each, end))
    for each in outlook.placed.values():
        if not each.step.stack:
            table.add_row(*_line(each, end, on_path=each in outlook.path))
    return table


def _line(each: Placed, end: int, *, on_path: bool = True) -> tuple[str, str, str, str]:
    bar = _bar(each.start, each.end, end, "█" if on_path else "░")
    return _clock(each.start), _clock(each.step.seconds), bar, f"  {escape(each.step.label)}"


def _bar(start: int, stop: int, end: int, mark: str) -> str:
    first = round(start / end * _WIDTH)
    return " " * first + mark * max(1, round(stop / end * _WIDTH) - first)


def _sources(based: Sequence[tuple[Placed, Duration]]) -> Iterator[Duration]:
    seen: set[Duration] = set()
    for placed, row in based:
        if placed.step.seconds >= _SHOWN_SECONDS and not row.estimate and row not in seen:
            seen.add(row)
            yield row


def _span(span: Span) -> str:
    return f"{_minutes(span.typical)} ({span.low // 60} to {-(-span.high // 60)})"


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:.0f} min"


def _clock(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02d}"
