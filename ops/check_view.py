"""How the findings look on a terminal, for someone who has never heard of EFA."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eks_ray_train.checks import Finding, Rule, Severity, errors, notes, warnings
from environments.settings import Settings

# Words that a person may meet here for the first time.
_GLOSSARY = {
    "AMI": "the disk image that a node starts from, with its GPU driver",
    "EFA": "the network card of GPU nodes that exchange tensors; without it training over several nodes crawls",
    "NCCL": "NVIDIA's library with which GPUs exchange tensors",
    "libfabric": "the library between NCCL and EFA",
    "GPUDirect RDMA": "the network card writes straight into GPU memory",
    "taint": "a mark on a node that turns away every pod which does not tolerate it",
    "shm": "memory that the processes of one pod share",
}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def show(console: Console, settings: Settings, findings: Sequence[Finding], *, tried: int, rules: int) -> None:
    """Errors, warnings, then what is no finding and worth knowing, and how many rules were tried."""
    source = f"environments/{settings.name}.toml"
    refused, warned = errors(findings), warnings(findings)
    _group(console, f"{source} cannot work", refused)
    _group(console, f"{source} can be deployed, and most likely not as meant" if not refused else "Also", warned)
    text = " ".join(map(str, findings))
    if words := [word for word in _GLOSSARY if word in text]:
        console.print("\n[bold]Words[/bold]")
        for word in words:
            _entry(console, word, _GLOSSARY[word])
    if not refused:
        console.print("\n[bold]Worth knowing[/bold]")
        for note in notes(settings):
            _entry(console, note.topic, note.text)
    console.print(f"\n{source}: {_summary(refused, warned, tried, rules)}", highlight=False)


def show_rules(console: Console, rules: Sequence[Rule]) -> None:
    """The rules, in the order in which their findings are listed."""
    table = Table(title=f"{len(rules)} rules", box=None, pad_edge=False)
    for heading in ("code", "looks at", "is an", "what it makes sure of"):
        table.add_column(heading, no_wrap=heading == "code")
    for rule in rules:
        table.add_row(rule.code, rule.phase, rule.severity, rule.description)
    console.print(table)


def _group(console: Console, title: str, findings: Sequence[Finding]) -> None:
    if not findings:
        return
    colour = _COLOURS[findings[0].severity]
    console.print(f"\n[bold {colour}]{escape(title)}: {_count(findings)}[/bold {colour}]", highlight=False)
    for finding in findings:
        console.print(
            f"\n  [bold]{escape(finding.field)}[/bold] = {escape(str(finding.value))}   [dim]\\[{finding.code}][/dim]",
            highlight=False,
            soft_wrap=True,
        )
        _entry(console, "expected", finding.expected)
        _entry(console, "to do", finding.remedy)


def _entry(console: Console, name: str, text: str) -> None:
    table = Table.grid(padding=(0, 1), pad_edge=False)
    table.add_column(width=3)
    table.add_column(width=14, style="dim")
    table.add_column(overflow="fold")
    table.add_row("", name, escape(text))
    console.print(table, highlight=False)


def _summary(refused: Sequence[Finding], warned: Sequence[Finding], tried: int, rules: int) -> str:
    if not refused and not warned:
        return f"{rules} rules, no finding"
    rest = f"; {rules - tried} rules more can be tried once the errors are mended" if tried < rules else ""
    return (
        f"{tried} rules, {_count(refused)} and {_count(warned)}{rest}"
        if refused
        else f"{rules} rules, {_count(warned)}"
    )


def _count(findings: Sequence[Finding]) -> str:
    noun = "error" if findings and findings[0].severity is Severity.ERROR else "warning"
    return f"{len(findings)} {noun}{'s' if len(findings) != 1 else ''}"
