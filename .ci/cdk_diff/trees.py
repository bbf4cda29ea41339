"""What a change does to the templates of a commit; needs no account."""

import json
from collections.abc import Sequence
from pathlib import Path

from cdk_diff.comment import details
from cdk_diff.errors import CallError, CdkError
from cdk_diff.git import checked_out, git
from cdk_diff.report import Report, StackDiff
from cdk_diff.stacks import diff_stack, environments, stacks_to_diff, synthesise


def against_commit(tree: Path, revision: str, names: Sequence[str], scratch: Path) -> Report:
    """The report on the environments ``names`` of ``tree``, against the templates of a commit.

    Raises:
        CallError: there is no such commit.
    """
    try:
        commit = git("rev-parse", "--verify", "--short", f"{revision}^{{commit}}")
    except CallError:
        raise CallError(
            f"--base = {revision!r}\n    expected: a commit of this repository\n"
            "    to do:    fetch it, or name another, such as origin/main"
        ) from None
    report = Report(
        f"A template diff: the templates of the base, {commit}, against those of this change. It is **not a diff "
        "against the account**, and what is deployed may differ from both."
    )
    with checked_out(commit, scratch / "base") as base:
        if not has_app(base):
            report.notes.append("The base has no `app.py`: everything counts as new.")
        for name in names:
            diff_environment(report, tree, base, name, scratch / "assemblies" / name)
        gone = [name for name in environments(base) if name not in environments(tree)]
        report.notes += [f"Environment `{name}` is removed: what is deployed of it stays deployed." for name in gone]
    return report


def diff_environment(report: Report, tree: Path, base: Path, environment: str, scratch: Path) -> None:
    """Adds an environment's stacks to the report, those that only the base has included."""
    assembly = scratch / "head"
    stacks = stacks_to_diff(report, tree, environment, assembly)
    if stacks is None:
        return
    templates = base_templates(report, base, environment, scratch / "base")
    nothing = scratch / "nothing.json"
    nothing.write_text("{}")
    for stack in stacks:
        known = templates.get(stack)
        diff = diff_stack(tree, assembly, environment, stack, ["--template", str(known or nothing)])
        new = known is None and diff.note != "failed"
        report.add(StackDiff(environment, stack, diff.text, "new") if new else diff)
    for stack, template in templates.items():
        if stack not in stacks:
            report.add(removed_stack(environment, stack, template))


def base_templates(report: Report, base: Path, environment: str, output: Path) -> dict[str, Path]:
    """The base's templates by stack; none where it cannot have any, and the report says why."""
    if not has_app(base):
        return {}  # said once, for all environments
    if environment not in environments(base):
        report.notes.append(f"The base has no environment `{environment}`: all of it counts as new.")
        return {}
    try:
        return synthesise(base, environment, output)
    except CdkError as error:
        last = "\n".join(str(error).splitlines()[-20:])[-2000:]
        report.notes.append(
            f"The base does not synthesise `{environment}`: all of it counts as new.\n\n"
            + details("What the base printed", last)
        )
        return {}


def removed_stack(environment: str, stack: str, template: Path) -> StackDiff:
    """A stack that the working tree no longer has, in the CLI's notation: it only diffs stacks that exist."""
    resources = json.loads(template.read_text()).get("Resources", {})
    lines = [
        f"[-] {resource['Type']} {name} {'orphan' if 'Retain' in resource.get('DeletionPolicy', '') else 'destroy'}"
        for name, resource in resources.items()
    ]
    return StackDiff(environment, stack, "\n".join(["Resources", *lines]), "removed")


def has_app(tree: Path) -> bool:
    """Whether ``tree`` has a CDK app."""
    return (tree / "app.py").is_file()
