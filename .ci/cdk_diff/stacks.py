"""A tree's environments, their stacks, and what the CDK command line says about one of them."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from cdk_diff.errors import CdkError
from cdk_diff.report import Report, StackDiff
from cdk_diff.tools import cdk

UNCHANGED = "There were no differences"


def environments(tree: Path) -> list[str]:
    """The environments of ``tree``, by name."""
    return sorted(path.stem for path in (tree / "environments").glob("*.toml"))


def synthesise(tree: Path, environment: str, output: Path) -> dict[str, Path]:
    """Synthesises an environment of ``tree`` into ``output``; the template of each stack, in the order of deployment.

    Raises:
        CdkError: it does not synthesise.
    """
    print(f"== synthesising {environment} of {tree}", file=sys.stderr, flush=True)
    cdk(tree, "synth", "--quiet", "--app", "python app.py", "-c", f"environment={environment}", "-o", str(output))
    artifacts = json.loads((output / "manifest.json").read_text())["artifacts"]
    return {
        artifact["displayName"]: output / artifact["properties"]["templateFile"]
        for artifact in artifacts.values()
        if artifact["type"] == "aws:cloudformation:stack"
    }


def stacks_to_diff(report: Report, tree: Path, environment: str, output: Path) -> list[str] | None:
    """Synthesises an environment of the working tree into ``output``; its stacks, or None: the report then says why."""
    try:
        return list(synthesise(tree, environment, output))
    except CdkError as error:
        report.add(StackDiff(environment, "(synthesis)", str(error), "failed"))
        return None


def diff_stack(tree: Path, assembly: Path, environment: str, stack: str, against: Sequence[str]) -> StackDiff:
    """One stack of ``assembly`` against what the CLI's options ``against`` name."""
    try:
        printed = cdk(tree, "diff", stack, "--exclusively", "--app", str(assembly), *against)
    except CdkError as error:
        return StackDiff(environment, stack, str(error), "failed")
    text = re.sub(r"^Stack .*\n|\n✨.*$", "", printed.strip(), flags=re.MULTILINE).strip()
    return StackDiff(environment, stack, text, "unchanged" if UNCHANGED in text.splitlines() else "")
