"""The real CDK command line, as the user would type it."""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses, tail

# What a reader wants of the output while it runs; all of it is in the log.
NEWS = re.compile(r"✅|❌|Deployment time|: destroyed|FAILED|ROLLBACK")
POLL_SECONDS = 0.2
SHORT_PAUSES = Path(__file__).with_name("short_pauses.cjs")


class Cdk:
    """`npx cdk` in the repository, with `variables` in its environment; `show` gets the lines that are news."""

    def __init__(
        self,
        processes: OwnProcesses,
        repository: Path,
        variables: Mapping[str, str],
        logs: Path,
        show: Callable[[str], None],
    ) -> None:
        self._processes = processes
        self._repository = repository
        # node and npx are installed beside python; cdk.json's "python app.py" must be this python too.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        own = {
            "PATH": path,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            # npx would ask npm's registry for a newer npm, and a network that says nothing would hold the command up.
            "npm_config_update_notifier": "false",
            "TMPDIR": str(logs),
            "NODE_OPTIONS": f'{os.environ.get("NODE_OPTIONS", "")} --require "{SHORT_PAUSES}"',
        }
        # A profile, or an endpoint of one service, of the user's own would win over the account's.
        foreign = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self._variables = {**foreign, **variables, **own}
        self._logs = logs
        self._show = show

    def run(self, *arguments: str, seconds: float) -> str:
        """Run `cdk ARGUMENTS` and return its output. Raises RehearsalError when it fails or takes longer."""
        name = f"cdk {arguments[0]}"
        log = self._logs / f"{arguments[0]}-{time.monotonic_ns()}.log"
        try:
            process = self._processes.start(
                ["npx", "--no-install", "cdk", *arguments], self._variables, self._repository, log
            )
        except FileNotFoundError:
            raise RehearsalError(
                "npx", "not found", f"beside {sys.executable} or on PATH", "pip install -r requirements.txt brings it."
            ) from None
        end = time.monotonic() + seconds
        shown = 0
        while process.poll() is None:
            if time.monotonic() > end:
                raise RehearsalError(
                    name, f"still running after {seconds:.0f} s\n{tail(log, 20)}", "an end", "See above."
                )
            shown = self._report(log, shown)
            time.sleep(POLL_SECONDS)
        self._report(log, shown)
        output = log.read_text(errors="replace")
        if process.returncode != 0:
            raise RehearsalError(
                name,
                f"exit code {process.returncode}\n{tail(log, 60)}",
                "exit code 0",
                "Correct the app; the error is above.",
            )
        return output

    def _report(self, log: Path, shown: int) -> int:
        lines = log.read_text(errors="replace").splitlines()
        for line in lines[shown:]:
            if NEWS.search(line):
                self._show(f"  | {line.strip()}")
        return len(lines)
