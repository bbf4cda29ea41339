"""The Kubernetes objects that `dev` emits, and parts of them."""

import re
from typing import Any

from tests.synthesis import kubernetes_objects


def the_one(kind: str, environment: str = "dev") -> dict[str, Any]:
    """The one object of a kind."""
    (obj,) = kubernetes_objects(environment, kind)
    return obj


def spec_of(kind: str) -> dict[str, Any]:
    """The spec of the one object of a kind."""
    spec: dict[str, Any] = the_one(kind)["spec"]
    return spec


def job_named(name: str) -> dict[str, Any]:
    """The Job of this name, which a hash follows, and of the fabric check what only a deploy knows."""
    jobs = kubernetes_objects("dev", "Job")
    (job,) = [job for job in jobs if re.fullmatch(rf"{name}-[0-9a-f]+(-.+)?", job["metadata"]["name"])]
    return job


def head_pod() -> dict[str, Any]:
    """The head's pod spec."""
    pod: dict[str, Any] = spec_of("RayCluster")["headGroupSpec"]["template"]["spec"]
    return pod


def worker_group() -> dict[str, Any]:
    """The RayCluster's worker group."""
    (group,) = spec_of("RayCluster")["workerGroupSpecs"]
    found: dict[str, Any] = group
    return found


def worker_pod() -> dict[str, Any]:
    """A worker's pod spec."""
    pod: dict[str, Any] = worker_group()["template"]["spec"]
    return pod


def submitter_pod() -> dict[str, Any]:
    """The submitter's pod spec."""
    pod: dict[str, Any] = spec_of("RayJob")["submitterPodTemplate"]["spec"]
    return pod


def variables(container: dict[str, Any]) -> dict[str, str]:
    """A container's variables; those that are not plain values are empty."""
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def all_pods() -> list[dict[str, Any]]:
    """The pod specs of all objects."""
    jobs = [job["spec"]["template"]["spec"] for job in kubernetes_objects("dev", "Job")]
    return [head_pod(), worker_pod(), submitter_pod(), *jobs]
