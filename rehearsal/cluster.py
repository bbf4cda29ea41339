"""The cluster as its API tells it: the RayJob that landed, and what became of it."""

import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rehearsal.account import Account, ask_json
from rehearsal.assembly import RayObjects, code_volume, name_of
from rehearsal.errors import RehearsalError

RAY = "/apis/ray.io/v1/namespaces/{namespace}/{plural}"
# Seconds for the stand-in operator to place head, workers and submitter.
RUNNING_SECONDS = 60.0
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Landed:
    """A RayJob that the operator has begun to run, with what it runs."""

    namespace: str
    objects: RayObjects


def wait_for_job(account: Account, progress: Callable[[str], None]) -> Landed:
    """Return the one RayJob as soon as the operator says Running. Raises RehearsalError when it never does."""
    end = time.monotonic() + RUNNING_SECONDS
    said = ""
    while True:
        # In whatever namespace: the app's code, which knows, would start CDK's Node in this process.
        job = _only(ask_json(f"{account.kubernetes}/apis/ray.io/v1/rayjobs")["items"], "RayJob")
        status = job.get("status", {}).get("jobDeploymentStatus", "not seen by the operator")
        if status == "Running":
            namespace = job["metadata"]["namespace"]
            return Landed(namespace, _objects(account, namespace, job))
        waiting = "; ".join(account.pending())
        if status in ("Failed", "ValidationFailed") or time.monotonic() > end:
            raise RehearsalError(
                f"RayJob {name_of(job)}",
                f"{status} {job.get('status', {}).get('message', '')} {waiting}".strip(),
                "Running",
                "Pods that wait say why; a ValidationFailed names the rule of the operator.",
            )
        if (news := f"RayJob {name_of(job)}: {status}. {waiting}") != said:
            said = news
            progress(f"  {news}")
        time.sleep(POLL_SECONDS)


def report_end(account: Account, landed: Landed, *, succeeded: bool, message: str = "") -> None:
    """Write to the RayJob's status what KubeRay would have read from Ray."""
    status = {
        "jobStatus": "SUCCEEDED" if succeeded else "FAILED",
        "jobDeploymentStatus": "Complete" if succeeded else "Failed",
        "message": message,
    }
    path = RAY.format(namespace=landed.namespace, plural="rayjobs")
    request = urllib.request.Request(  # noqa: S310 - our own server, on loopback
        f"{account.kubernetes}{path}/{name_of(landed.objects.ray_job)}/status",
        data=json.dumps({"status": status}).encode(),
        headers={"Content-Type": "application/merge-patch+json"},
        method="PATCH",
    )
    with urllib.request.urlopen(request, timeout=30):  # noqa: S310
        pass


def job_status(account: Account, landed: Landed) -> str:
    """Return the RayJob's jobStatus."""
    path = RAY.format(namespace=landed.namespace, plural="rayjobs")
    job = ask_json(f"{account.kubernetes}{path}/{name_of(landed.objects.ray_job)}")
    return str(job["status"].get("jobStatus"))


def releases(account: Account) -> list[str]:
    """Return the Helm releases that are installed, by name."""
    secrets = ask_json(f"{account.kubernetes}/api/v1/secrets")["items"]
    labels = [secret["metadata"].get("labels", {}) for secret in secrets]
    return sorted(label["name"] for label in labels if label.get("owner") == "helm" and label["status"] == "deployed")


def nodes(account: Account) -> dict[str, list[str]]:
    """Return the zones of the nodes, by role."""
    found: dict[str, list[str]] = {}
    for node in ask_json(f"{account.kubernetes}/api/v1/nodes")["items"]:
        labels = node["metadata"]["labels"]
        zone = labels.get("topology.kubernetes.io/zone", "?")
        found.setdefault(labels.get("role", "?"), []).append(zone)
    return found


def _objects(account: Account, namespace: str, job: dict[str, Any]) -> RayObjects:
    selected = job["spec"]["clusterSelector"]["ray.io/cluster"]
    clusters = [item for item in _list(account, namespace, "rayclusters") if name_of(item) == selected]
    config_map = ask_json(f"{account.kubernetes}/api/v1/namespaces/{namespace}/configmaps/{code_volume(job)[0]}")
    return RayObjects(_only(clusters, "RayCluster"), job, config_map)


def _list(account: Account, namespace: str, plural: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = ask_json(f"{account.kubernetes}{RAY.format(namespace=namespace, plural=plural)}")[
        "items"
    ]
    return items


def _only(items: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    if len(items) != 1:
        names = ", ".join(map(name_of, items)) or "none"
        raise RehearsalError(
            kind, names, "exactly one in the cluster", "The Training stack makes it: stacks/training.py."
        )
    return items[0]
