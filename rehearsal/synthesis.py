"""`cdk synth` with the real CDK CLI, as the user would run it."""

import os
import sys
from pathlib import Path

from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses, tail

# A cold first run builds jsii's cache, which alone takes 15 seconds on two cores.
SYNTH_SECONDS = 300.0


def synthesise(processes: OwnProcesses, repository: Path, environment: str, assembly: Path, log: Path) -> None:
    """Synthesise `environment` of the app in `repository` into the folder `assembly`. Raises RehearsalError."""
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", "-c", f"environment={environment}"]
    command += ["--output", str(assembly)]
    # node and npx are installed beside python; cdk.json's "python app.py" must be this python too.
    variables = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        process = processes.start(command, variables, repository, log)
    except FileNotFoundError:
        raise RehearsalError(
            "npx", "not found", f"beside {sys.executable} or on PATH", "pip install -r requirements.txt brings it."
        ) from None
    code = processes.wait(process, SYNTH_SECONDS)
    if code is None:
        raise RehearsalError(
            "cdk synth", f"still running after {SYNTH_SECONDS:.0f} s", "an end", f"See its output: {log}"
        )
    if code != 0:
        raise RehearsalError(
            "cdk synth", f"exit code {code}\n{tail(log, 60)}", "exit code 0", "Correct the app; the error is above."
        )
