"""The CDK command line that `make setup` put beside this script, on the code of any tree."""

import os
import subprocess
from pathlib import Path

from cdk_diff.errors import CallError, CdkError

TOOLS = Path(__file__).resolve().parents[2]


def check_tools() -> None:
    """Raises CallError where the tools are not set up."""
    for tool in (TOOLS / ".venv" / "bin" / "node", TOOLS / "node_modules" / ".bin" / "cdk"):
        if not tool.exists():
            raise CallError(
                f"{tool.relative_to(TOOLS)} = nothing\n"
                "    expected: the virtual environment and the CDK command line\n"
                "    to do:    run make setup"
            )


def tool_environment(tree: Path) -> dict[str, str]:
    """Environment variables with which the CDK uses our tools and ``tree``'s code.

    The tools' virtual environment has an editable install of the tree beside it; PYTHONPATH comes before that.
    """
    return {
        **os.environ,
        "PATH": f"{TOOLS / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'constructs'}",
        "CDK_VALIDATION": "false",  # templates are validated where they are checked; here it would double the time
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "NO_COLOR": "1",
        "CI": "true",
    }


def cdk(tree: Path, *arguments: str) -> str:
    """Runs the CDK command line in ``tree``; what it printed.

    Raises:
        CdkError: it failed.
    """
    done = subprocess.run(  # noqa: S603 - no shell, and the command is ours
        [TOOLS / "node_modules" / ".bin" / "cdk", *arguments, "--no-notices"],
        cwd=tree,
        env=tool_environment(tree),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise CdkError(done.stdout.strip())
    return done.stdout
