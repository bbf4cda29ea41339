"""Measures `raytrain capacity` over all regions against one question after the other: ``python -m bench.capacity``.

Both ask the same questions of an emulated account on this machine, in which every call takes a while, as it does on its
way to AWS and back.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
from rich.console import Console
from rich.table import Table

from eks_ray_train.instance_types import INSTANCE_TYPES
from ops.account import client, look
from ops.capacity import probe
from ops.capacity.notes import kept
from ops.capacity.scan import RegionAnswer, scan
from rehearsal.account import Account, ask_json, start_account
from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses, interruptible

HOME = "us-east-2"


@dataclass(frozen=True)
class Figures:
    """One way to ask: wall time from credentials to the last answer, the calls it took, and what was answered."""

    name: str
    seconds: float
    calls: int
    answers: Mapping[str, RegionAnswer]


@contextmanager
def found_by_boto3(account: Account) -> Iterator[None]:
    """Send what boto3 asks to the emulated account."""
    before = os.environ.get("AWS_ENDPOINT_URL")
    os.environ["AWS_ENDPOINT_URL"] = account.aws
    try:
        yield
    finally:
        del os.environ["AWS_ENDPOINT_URL"]
        if before is not None:
            os.environ["AWS_ENDPOINT_URL"] = before


def measure(name: str, account: Account, ms: float, *, concurrent: bool) -> Figures:
    """Ask every enabled region, with a new session, whose clients count as well."""
    calls = f"{account.aws}/rehearsal/calls"
    ask_json(calls, method="DELETE")
    account.tell("latency", ms=ms)
    session = boto3.Session("test", "test")
    began = time.perf_counter()
    who, known = look(session, HOME)
    enabled = [region for region, is_enabled in known.items() if is_enabled]
    wanted = probe.group(INSTANCE_TYPES["g6.12xlarge"], 2, owner=who.owner)
    with kept():
        answers = scan(session, enabled, wanted, concurrent=concurrent)
    seconds = time.perf_counter() - began
    return Figures(name, seconds, _count(ask_json(calls)), answers)


def compare(account: Account, ms: float) -> tuple[Figures, Figures]:
    """Both ways, after a client that does not count: reading EC2's model takes as long as some calls."""
    client(boto3.Session("test", "test"), "ec2", HOME)
    return (
        measure("one by one", account, ms, concurrent=False),
        measure("at once", account, ms, concurrent=True),
    )


def render(one: Figures, many: Figures, ms: float) -> Table:
    """The figures of both, and how many times faster."""
    table = Table(title=f"Capacity of {len(many.answers)} regions, {ms:.0f} ms a call")
    for column in ("questions", "seconds", "calls"):
        table.add_column(column, justify="left" if column == "questions" else "right")
    for figures in (one, many):
        table.add_row(figures.name, f"{figures.seconds:.2f}", str(figures.calls))
    table.add_section()
    table.add_row("times faster", f"{one.seconds / many.seconds:.1f}", "")
    return table


def _count(calls: Mapping[str, Mapping[str, Mapping[str, int]]]) -> int:
    return sum(count for actions in calls.values() for regions in actions.values() for count in regions.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Starts the account, measures and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description="measure the search for capacity")
    parser.add_argument("--ms", type=float, default=200.0, help="what each call takes (default: 200 ms)")
    options = parser.parse_args(arguments)
    if options.ms < 0:
        parser.error(f"--ms = {options.ms}\n    expected: 0 or more\n    to do:    leave it out for 200")
    try:
        with interruptible(), tempfile.TemporaryDirectory() as folder, OwnProcesses() as processes:
            account = start_account(processes, Path(folder), Path(folder), HOME, None, None)
            with found_by_boto3(account):
                one, many = compare(account, options.ms)
    except RehearsalError as error:
        sys.exit(f"\n{error}\n")
    Console().print(render(one, many, options.ms))


if __name__ == "__main__":
    main()
