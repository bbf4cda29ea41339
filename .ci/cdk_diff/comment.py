"""The comment on a pull request, in Markdown."""

import re

from cdk_diff.fitting import cut, shares, shorten_lines
from cdk_diff.report import Report

MARKER = "<!-- cdk-diff -->"  # .ci/comment finds the comment to update by this first line
LIMIT = 65_000  # characters; GitHub takes 65,536


def render(report: Report) -> str:
    """The comment, within GitHub's limit."""
    rows, summaries = [], []
    for diff in report.diffs:
        added, changed, destroyed = diff.count()
        mark = f"⚠ **{destroyed}**" if destroyed else "0"
        name = f"{diff.stack} ({diff.note})" if diff.note else diff.stack
        cells = "| | " if diff.note == "failed" else f"{added} | {changed} | {mark}"
        rows.append(f"| {diff.environment} | {name} | {cells} |")
        summaries.append(f"{'⚠ ' if destroyed or diff.note == 'failed' else ''}{diff.environment} / {name}")
    head = [
        MARKER,
        "## `cdk diff`",
        report.basis,
        *report.notes,
        "\n".join(
            [
                "| environment | stack | added | changed | ⚠ replaced or destroyed |",
                "| --- | --- | ---: | ---: | ---: |",
                *rows,
            ]
        ),
        "Resources are counted. The last column includes those that may be replaced, or that stay but leave their "
        "stack.\n",
    ]
    shown = [(summary, diff) for summary, diff in zip(summaries, report.diffs, strict=True) if diff.note != "unchanged"]
    texts = [shorten_lines(diff.text) for _, diff in shown]
    overhead = sum(len(summary) + 200 for summary, _ in shown)
    lengths = shares([len(text) for text in texts], LIMIT - len("\n\n".join(head)) - overhead)
    sections = [
        details(summary, *cut(text, length)) for (summary, _), text, length in zip(shown, texts, lengths, strict=True)
    ]
    return "\n\n".join(head) + "\n" + "\n".join(sections)


def details(summary: str, text: str, after: str = "") -> str:
    """A collapsible section with ``text`` verbatim: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"<details><summary>{summary}</summary>\n\n{fence}text\n{text}\n{fence}\n{after}\n</details>\n"
