"""The emulated account: a Kubernetes API and an AWS, each a process of ours on loopback."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses, tail

# moto's import alone takes three seconds on two cores.
START_SECONDS = 90.0
ACCOUNT_ID = "123456789012"


@dataclass(frozen=True)
class Account:
    """Where the two answer, and the variables by which the AWS and CDK command lines find them."""

    kubernetes: str
    aws: str
    region: str
    kubeconfig: Path

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of a shell that works on the account."""
        return {
            "AWS_ENDPOINT_URL": self.aws,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": self.region,
            "KUBECONFIG": str(self.kubeconfig),
        }

    def inventory(self) -> dict[str, list[str]]:
        """Return what is in the account, by kind."""
        found: dict[str, list[str]] = ask_json(f"{self.aws}/rehearsal/inventory")
        return found

    def events(self) -> list[dict[str, Any]]:
        """Return what CloudFormation did, in order."""
        found: list[dict[str, Any]] = ask_json(f"{self.aws}/rehearsal/events")
        return found

    def pending(self) -> list[str]:
        """Return each pod that waits, with the scheduler's reason."""
        return [f"{item['name']}: {item['message']}" for item in ask_json(f"{self.kubernetes}/rehearsal/pending")]

    def tell(self, what: str, **fields: Any) -> Any:
        """Ask something of the emulated AWS itself (rehearsal/cloud/README.md), and return its answer."""
        return ask_json(f"{self.aws}/rehearsal/{what}", fields)


def start_account(
    processes: OwnProcesses, folder: Path, tools: Path, region: str, charts: Path | None, crds: Path | None
) -> Account:
    """Start both; `folder` is for logs, `tools` a cache of unpacked packages. Raises RehearsalError."""
    kubernetes = _serve(processes, folder, "kubernetes", ["--port", "0", *_option("--crds", crds)])
    cloud = ["--port", "0", "--kubernetes", kubernetes, "--tools", str(tools), *_option("--charts", charts)]
    aws = _serve(processes, folder, "cloud", cloud)
    return Account(kubernetes, aws, region, _write_kubeconfig(folder / "kubeconfig", kubernetes))


def ask_json(url: str, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
    """Return what `url` answers to `method`: POST where there is a `body`, else GET. Raises RehearsalError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, method=method)  # noqa: S310 - our own, on loopback
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.loads(answer.read())
    except (OSError, ValueError) as error:
        raise RehearsalError(
            url, error, "an answer", "The emulated account is gone: look for its log above."
        ) from error


def _option(name: str, folder: Path | None) -> list[str]:
    return [name, str(folder.absolute())] if folder is not None else []


def _serve(processes: OwnProcesses, folder: Path, name: str, arguments: list[str]) -> str:
    """Start `python -m rehearsal.NAME` and return the address that it prints first."""
    log = folder / f"{name}.log"
    command = [sys.executable, "-m", f"rehearsal.{name}", *arguments]
    # Temporary files go with the folder, even those of functions that are killed.
    process = processes.start(command, os.environ | {"TMPDIR": str(folder)}, Path(__file__).parent.parent, log)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        address = next((line for line in lines if line.startswith("http://")), None)
        if address is not None:
            return address
        time.sleep(0.1)
    raise RehearsalError(f"rehearsal.{name}", tail(log, 20), "its address", "Its own output says why it did not start.")


def _write_kubeconfig(path: Path, url: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rehearsal", "cluster": {"server": url}}],
        "users": [{"name": "rehearsal", "user": {}}],
        "contexts": [{"name": "rehearsal", "context": {"cluster": "rehearsal", "user": "rehearsal"}}],
        "current-context": "rehearsal",
    }
    path.write_text(json.dumps(config))
    return path
