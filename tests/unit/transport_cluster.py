"""An emulated cluster for `bench.transport`, and what Ray and the training would do on it."""

import json
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.submission import flags
from tests.objects import the_one
from tests.rehearsal_kubernetes.clients import Client, Object, deployed_objects, eventually, full_cluster
from training.figures import speed
from training.results import RESULT, TRANSPORT, RunFolder
from training.transport_verdict import Kind, Observation, Verdict

JOBS = "/apis/ray.io/v1/namespaces/ray-train/rayjobs"
MERGE = "application/merge-patch+json"


def write(folder: RunFolder, kinds: Sequence[Kind], more: Mapping[str, Any]) -> None:
    """What a run of two ranks leaves, with these verdicts."""
    verdicts = [
        Verdict(
            kind=kind,
            reason=f"rank {rank} saw {kind}",
            remedy="mend it",
            seen=Observation(rank=rank, node=f"node-{rank}", backend="nccl", nodes=2),
        )
        for rank, kind in enumerate(kinds)
    ]
    folder.write(TRANSPORT, json.dumps([verdict.to_json() for verdict in verdicts]))
    seconds = 0.5 if kinds[0] == "EFA" else 0.8
    figures = {
        "status": "succeeded",
        "world_size": 2,
        **speed([seconds] * 29, 64, 2, flops=1e9, gemm=1e12, peak=None, usd_per_hour=None),
        "transport": {"bytes": {"steps": 3, "measured_bytes_per_step": 2.2e6, "predicted_bytes_per_step": 2e6}},
    }
    folder.write(RESULT, json.dumps(figures | dict(more)))


Runner = Callable[[RunFolder, Mapping[str, str]], str | None]


def as_required(folder: RunFolder, given: Mapping[str, str]) -> str:
    kind: Kind = "EFA" if given["require-transport"] == "efa" else "SOCKET"
    write(folder, (kind, kind), {})
    return "SUCCEEDED"


class Deployed:
    """An emulated cluster on which dev's RayJob has ended; `runner` plays Ray for those that come after it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.standing = the_one("RayJob")
        self.name = str(self.standing["metadata"]["name"])
        self.runner: Runner = as_required
        self.seen: list[Object] = []

    def deploy(self, results: Path) -> None:
        """Apply dev, and end its job."""
        words = shlex.split(self.standing["spec"]["entrypoint"])
        words[words.index("--results") + 1] = str(results)
        self.standing["spec"]["entrypoint"] = shlex.join(words)
        others = [obj for obj in deployed_objects() if obj["kind"] not in ("Job", "RayJob")]
        self.client.apply(*full_cluster(), *others, self.standing)
        assert eventually(self.begun)
        self.tell(self.name, jobStatus="SUCCEEDED", jobDeploymentStatus="Complete")

    def jobs(self) -> list[Object]:
        return list(self.client.request("GET", JOBS)[1]["items"])

    def begun(self) -> list[Object]:
        """The jobs whose submitter runs: they wait for whoever plays Ray."""
        return [job for job in self.jobs() if (job.get("status") or {}).get("jobDeploymentStatus") == "Running"]

    def tell(self, name: str, **status: str) -> None:
        assert self.client.request("PATCH", f"{JOBS}/{name}/status", {"status": status}, MERGE)[0] == 200

    def left(self) -> list[str]:
        return [job["metadata"]["name"] for job in self.jobs()]

    def play(self, stop: threading.Event) -> None:
        """Run each new RayJob once, as soon as its submitter runs."""
        while not stop.wait(0.02):
            for job in self.begun():
                name = job["metadata"]["name"]
                if name in (self.name, *self.ran()):
                    continue
                self.seen.append(job)
                given = flags(job["spec"]["entrypoint"])
                if (ended := self.runner(RunFolder(given["results"], name), given)) is not None:
                    state = "Complete" if ended == "SUCCEEDED" else "Failed"
                    self.tell(name, jobStatus=ended, jobDeploymentStatus=state, message="the submitter failed")

    def ran(self) -> list[str]:
        return [job["metadata"]["name"] for job in self.seen]
