"""Stands before the real helm on a function's PATH: chart repositories become local folders. Runs in that process.

The environment gives HELM_REHEARSAL_REAL (the real helm), HELM_REHEARSAL_CHARTS (folders with charts by name, the
stand-ins last) and HELM_REHEARSAL_STAND_INS (the folder of the stand-ins).
"""

import os
import re
import sys
from pathlib import Path


def main() -> None:
    """Rewrite the arguments and become the real helm."""
    arguments = sys.argv[1:]
    if "--repo" in arguments:
        at = arguments.index("--repo")
        del arguments[at : at + 2]
        # helm upgrade RELEASE CHART ...: the handler writes the chart as the third word.
        arguments[2] = str(_folder(arguments[2], _option(arguments, "--version")))
    real = os.environ["HELM_REHEARSAL_REAL"]
    os.execv(real, [real, *arguments])  # noqa: S606 - the layer's own helm


def _folder(name: str, version: str | None) -> Path:
    stand_ins = Path(os.environ["HELM_REHEARSAL_STAND_INS"])
    for folder in os.environ["HELM_REHEARSAL_CHARTS"].split(os.pathsep):
        chart = Path(folder) / name
        if not (chart / "Chart.yaml").exists():
            continue
        if Path(folder) == stand_ins:
            print(f"rehearsal: STAND-IN for the chart {name} {version}: not the real one", flush=True)
            return chart
        found = re.search(r"^version:\s*[\"']?([^\s\"']+)", (chart / "Chart.yaml").read_text(), re.MULTILINE)
        if version and (not found or found.group(1).lstrip("v") != version.lstrip("v")):
            sys.exit(f"rehearsal: {chart} is version {found and found.group(1)}, {version} is wanted")
        return chart
    sys.exit(f"rehearsal: no chart {name}: put its folder into --charts")


def _option(arguments: list[str], name: str) -> str | None:
    return arguments[arguments.index(name) + 1] if name in arguments else None


if __name__ == "__main__":
    main()
