"""What a change does to what is deployed in an account."""

from collections.abc import Sequence
from pathlib import Path

from cdk_diff.report import Report
from cdk_diff.stacks import diff_stack, stacks_to_diff


def against_account(tree: Path, names: Sequence[str], scratch: Path) -> Report:
    """The report on the environments ``names`` of ``tree``, against what is deployed."""
    report = Report(
        "Against what is deployed in the account. Stacks that this change no longer has are not listed: "
        "the CDK leaves them deployed."
    )
    for name in names:
        assembly = scratch / name
        for stack in stacks_to_diff(report, tree, name, assembly) or []:
            # A change set would say more, and would need the deploy role: the lookup role only reads.
            report.add(diff_stack(tree, assembly, name, stack, ["--method", "template"]))
    return report
