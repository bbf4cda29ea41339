"""The CDK command line, as a person would type it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ops.errors import ExitCode, OpsError

ROOT = Path(__file__).resolve().parents[2]
COMMAND: tuple[str, ...] = ("npx", "--no-install", "cdk")
# What is longer than a terminal's Ctrl-C takes to reach the command line, which gets it from the terminal too.
_SECONDS_TO_END = 5.0


def synthesise(environment: str) -> dict[str, Any]:
    """The environment's templates by stack id; a check that refuses it prints why.

    Raises:
        OpsError: it does not synthesise.
    """
    with tempfile.TemporaryDirectory() as output:
        code = _run(["synth", "--quiet", "-c", f"environment={environment}", "--output", output])
        if code != 0:
            raise OpsError(
                f"npx cdk synth -c environment={environment}: exit code {code}",
                "templates",
                "mend what it says above",
                ExitCode.USAGE,
            )
        return {path.name.split(".")[0]: json.loads(path.read_text()) for path in Path(output).glob("*.template.json")}


def deploy_arguments(environment: str, further: Sequence[str]) -> list[str]:
    """The arguments of the deploy."""
    return ["deploy", "--all", "-c", f"environment={environment}", "--concurrency", "3", *further]


def deploy(environment: str, further: Sequence[str]) -> int:
    """Run the deploy on this terminal, and return its exit code.

    Raises:
        KeyboardInterrupt: on Ctrl-C, once the command line has ended; CloudFormation goes on.
    """
    return _run(deploy_arguments(environment, further))


def _run(arguments: Sequence[str]) -> int:
    # node and npx are beside python, and cdk.json's "python app.py" must be this python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        process = subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, env={**os.environ, "PATH": path})  # noqa: S603 - no shell, and the command is ours
    except FileNotFoundError:
        raise OpsError(f"{COMMAND[0]} = not found", "the CDK command line", "run make setup") from None
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
        raise
