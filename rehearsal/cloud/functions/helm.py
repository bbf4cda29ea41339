"""Stands before the real helm on a function's PATH: asks the emulation where a chart comes from. Runs in that process.

The environment gives HELM_REHEARSAL_REAL (the real helm) and AWS_ENDPOINT_URL (the emulation).
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# An index and an archive are two megabytes at most; helm itself would wait for minutes, and again for each try.
PULL_SECONDS = 30.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NotPulledError(Exception):
    """The repository did not hand the chart over; the message says why."""


def main() -> None:
    """Put a chart's folder or archive in the place of its repository, and become the real helm."""
    arguments, real = sys.argv[1:], os.environ["HELM_REHEARSAL_REAL"]
    if "--repo" in arguments:
        at = arguments.index("--repo")
        repository = arguments[at + 1]
        del arguments[at : at + 2]
        # helm upgrade RELEASE CHART ...: the handler writes the chart as the third word.
        arguments[2] = _located(real, repository, arguments[2], _option(arguments, "--version"))
    os.execv(real, [real, *arguments])  # noqa: S606 - the layer's own helm


def _located(real: str, repository: str, name: str, version: str | None) -> str:
    wanted = {"repository": repository, "name": name, "version": version}
    chosen = _ask("chart", wanted)
    if chosen["chart"] is None:
        try:
            archive = pull(real, chosen["environment"], repository, name, version)
        except NotPulledError as error:
            chosen = _ask("chart/pulled", {**wanted, "error": str(error)})
        else:
            _ask("chart/pulled", {**wanted, "error": None})
            return str(archive)
    return str(chosen["chart"])


def pull(
    real: str,
    environment: Mapping[str, str],
    repository: str,
    name: str,
    version: str | None,
    seconds: float = PULL_SECONDS,
) -> Path:
    """Return the archive of a chart, fetched by helm; raises NotPulledError, at the latest after ``seconds``."""
    folder = Path(tempfile.mkdtemp(prefix="chart-"))
    command = [real, "pull", name, "--repo", repository, "--destination", str(folder)]
    _run([*command, *(["--version", version] if version else [])], {**os.environ, **environment}, seconds)
    (archive,) = folder.iterdir()
    return archive


def _run(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> None:
    try:
        subprocess.run(  # noqa: S603 - the layer's own helm
            command, env=environment, check=True, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise NotPulledError(f"no chart within {seconds:g} s, though its index answers") from error
    except subprocess.CalledProcessError as error:
        # Warnings stand before it.
        raise NotPulledError(" ".join(error.stderr.rpartition("Error: ")[2].split())) from error


def _ask(what: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - the emulation, on loopback
        f"{os.environ['AWS_ENDPOINT_URL']}/rehearsal/{what}", data=json.dumps(wanted).encode(), method="POST"
    )
    try:
        with _DIRECT.open(request, timeout=30) as answer:
            return dict(json.loads(answer.read()))
    except urllib.error.HTTPError as error:
        sys.exit(f"rehearsal: {json.loads(error.read())['message']}")


def _option(arguments: list[str], name: str) -> str | None:
    return arguments[arguments.index(name) + 1] if name in arguments else None


if __name__ == "__main__":
    main()
