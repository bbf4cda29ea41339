"""Measures the synthesis of an environment beside that of an empty CDK app: ``python -m bench.synth``.

Each run is a fresh Python process that is started as the CDK command line starts it. The two apps take turns, so that
whatever else the machine does falls on both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.errors import BenchError, ending

ROOT = Path(__file__).resolve().parent.parent
PROC = Path("/proc")
SAMPLE_SECONDS = 0.02
MIB = 1024**2


@dataclass(frozen=True)
class Run:
    """One synthesis: wall time, and the most resident memory at once of Python and its Node process together."""

    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Figures:
    """The runs of one app."""

    name: str
    runs: Sequence[Run]

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak_mib(self) -> float:
        """The median."""
        return statistics.median(run.peak_bytes for run in self.runs) / MIB


def cli_variables(environment: str) -> dict[str, str]:
    """The variables that the CDK command line starts an app with: its own settings, and cdk.json's as context.

    Raises:
        BenchError: it did not start the app.
    """
    cli = ROOT / "node_modules" / ".bin" / "cdk"
    if not cli.exists():
        raise BenchError("node_modules/.bin/cdk", "not there", "the CDK command line", "run make setup")
    with tempfile.TemporaryDirectory() as output:
        arguments = ["synth", "--quiet", "--no-notices", "-c", f"environment={environment}", "-o", output]
        done = subprocess.run(  # noqa: S603 - no shell, and the command is ours
            [cli, *arguments, "--app", "python bench/record.py"],
            cwd=ROOT,
            env={**os.environ, **tools(), "CDK_DISABLE_CLI_TELEMETRY": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        recorded = Path(output) / "variables.json"
        if not recorded.exists():
            raise BenchError(
                "cdk synth",
                ending(done.returncode, done.stderr),
                "a start of bench/record.py, which writes down what the command line gives an app",
                "mend what it printed; if the tools are incomplete, run make setup",
            )
        variables: dict[str, str] = json.loads(recorded.read_text())
        return variables


def tools() -> dict[str, str]:
    """Puts the virtual environment's Node first."""
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def tree_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants; pages that they share count once for each."""
    try:
        resident = int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        children = [
            int(child)
            for thread in (PROC / str(pid) / "task").iterdir()
            for child in (thread / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):  # it ended while we looked
        return 0
    return resident + sum(map(tree_bytes, children))


def measure(app: Path, variables: Mapping[str, str]) -> Run:
    """Synthesises ``app`` once, with the command line's variables but an output folder of its own.

    Raises:
        BenchError: it does not synthesise.
    """
    with tempfile.TemporaryDirectory() as output, tempfile.TemporaryFile("w+") as printed:
        here = {name: value.replace(variables["CDK_OUTDIR"], output) for name, value in variables.items()}
        environment = {**os.environ, **tools(), **here}
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - no shell, and the command is ours
            [sys.executable, app], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed
        )
        peak = 0
        while True:
            peak = max(peak, tree_bytes(process.pid))
            try:
                process.wait(SAMPLE_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        seconds = time.perf_counter() - began
        if process.returncode:
            printed.seek(0)
            raise BenchError(
                f"synthesis by {app.name}",
                ending(process.returncode, printed.read()),
                "exit code 0",
                "mend what it printed, or name another --environment",
            )
        return Run(seconds, peak)


def compare(environment: str, runs: int) -> tuple[Figures, Figures]:
    """The empty app and ours, measured in turns after a run of each that does not count: it fills the caches.

    Raises:
        BenchError: one of them does not synthesise.
    """
    apps = {"empty": ROOT / "bench" / "empty.py", environment: ROOT / "app.py"}
    variables = cli_variables(environment)
    rounds = [{name: measure(app, variables) for name, app in apps.items()} for _ in range(1 + runs)][1:]
    empty, ours = (Figures(name, [measured[name] for measured in rounds]) for name in apps)
    return empty, ours


def render(empty: Figures, ours: Figures) -> Table:
    """The figures of both apps, and ours as a multiple of the empty one's."""
    count = len(ours.runs)
    table = Table(title=f"Synthesis: median of {count} warm run{'' if count == 1 else 's'}, in turns")
    table.add_column("app")
    table.add_column("seconds", justify="right")
    table.add_column("fastest to slowest", justify="right")
    table.add_column("peak MiB", justify="right")
    for figures in (empty, ours):
        times = [run.seconds for run in figures.runs]
        spread = f"{min(times):.2f} to {max(times):.2f}"
        table.add_row(figures.name, f"{figures.seconds:.2f}", spread, f"{figures.peak_mib:.0f}")
    table.add_section()
    ratio = f"{ours.seconds / empty.seconds:.2f}", "", f"{ours.peak_mib / empty.peak_mib:.2f}"
    table.add_row(f"{ours.name} / {empty.name}", *ratio)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.synth", description="measure synthesis beside an empty app")
    parser.add_argument("--environment", default="dev", help="the environment to synthesise (default: dev)")
    parser.add_argument("--runs", type=int, default=5, help="how often to measure each app (default: 5)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs = {options.runs}\n    expected: 1 or more\n    to do:    leave it out for 5")
    if not (PROC / "self" / "statm").exists():
        parser.error(
            f"platform = {sys.platform!r}\n    expected: Linux, whose /proc tells the memory of a process tree\n"
            "    to do:    run it on Linux, or in a container"
        )
    try:
        empty, ours = compare(options.environment, options.runs)
    except BenchError as error:
        sys.exit(f"\n{error}\n")
    Console().print(render(empty, ours))


if __name__ == "__main__":
    main()
