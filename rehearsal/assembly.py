"""Reads from a cloud assembly the Kubernetes objects that a deploy would apply."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.errors import RehearsalError

MANIFEST_TYPE = "Custom::AWSCDK-EKS-KubernetesResource"


@dataclass(frozen=True)
class RayObjects:
    """What a rehearsal runs: the cluster, the job, and the ConfigMap that holds the job's code."""

    ray_cluster: dict[str, Any]
    ray_job: dict[str, Any]
    config_map: dict[str, Any]


def read_assembly(folder: Path) -> RayObjects:
    """Return the Ray objects in the templates of `folder`. Raises RehearsalError when one is missing or doubled."""
    templates = sorted(folder.glob("*.template.json"))
    if not templates:
        raise RehearsalError(
            "assembly", folder, "a folder with *.template.json", "Give the folder that `cdk synth --output` wrote."
        )
    objects = [found for template in templates for found in kubernetes_objects(template)]
    ray_cluster, ray_job = _only(objects, "RayCluster"), _only(objects, "RayJob")
    selected = ray_job["spec"].get("clusterSelector", {}).get("ray.io/cluster")
    if selected != name_of(ray_cluster):
        raise RehearsalError(
            f'RayJob {name_of(ray_job)} spec.clusterSelector["ray.io/cluster"]',
            selected,
            f"{name_of(ray_cluster)}, the RayCluster of the assembly",
            "The job would wait for a cluster that nobody makes: look at stacks/training.py.",
        )
    return RayObjects(ray_cluster, ray_job, _only(objects, "ConfigMap", code_volume(ray_job)[0]))


def kubernetes_objects(template: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of every manifest in a CloudFormation template. Raises RehearsalError."""
    for logical_id, resource in json.loads(template.read_text()).get("Resources", {}).items():
        if resource.get("Type") == MANIFEST_TYPE:
            try:
                yield from json.loads(resolve(resource["Properties"]["Manifest"]))
            except (KeyError, ValueError) as error:
                raise RehearsalError(
                    f"{template.name} {logical_id}.Manifest",
                    repr(error),
                    "a JSON list of Kubernetes objects",
                    "The template is not what CDK's KubernetesManifest writes: synthesise it again.",
                ) from error


def resolve(value: Any) -> str:
    """Return the text of a template value; what only a deploy can know becomes a readable placeholder.

    Placeholders hold letters, digits, `.` and `-` only: they end up inside JSON, and inside a shell command.
    """
    if not isinstance(value, dict):
        return str(value)
    function, argument = next(iter(value.items()))
    if function == "Fn::Join":
        separator, parts = argument
        return str(separator).join(map(resolve, parts))
    return "known-after-deploy-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(_leaves(argument))).strip("-")


def code_volume(ray_job: dict[str, Any]) -> tuple[str, str]:
    """Return (name of the ConfigMap, where the submitter mounts it). Raises RehearsalError unless it is just one."""
    job = f"RayJob {name_of(ray_job)}"
    try:
        pod = ray_job["spec"]["submitterPodTemplate"]["spec"]
        maps = {v["name"]: v["configMap"]["name"] for v in pod.get("volumes", []) if "configMap" in v}
        mounts = [m for c in pod["containers"] for m in c.get("volumeMounts", []) if m["name"] in maps]
    except KeyError as error:
        raise RehearsalError(
            f"{job} spec.submitterPodTemplate.spec", f"has no {error}", "containers and volumes", "See k8s/ray_job.py."
        ) from error
    if len(mounts) != 1:
        raise RehearsalError(
            f"{job} spec.submitterPodTemplate.spec.containers[].volumeMounts",
            f"{len(mounts)} of a ConfigMap",
            "one: the job's code",
            "Mount the ConfigMap of the training folder in the submitter, once.",
        )
    return maps[mounts[0]["name"]], mounts[0]["mountPath"]


def name_of(obj: dict[str, Any]) -> str:
    """Return the name of a Kubernetes object."""
    return str(obj.get("metadata", {}).get("name", "(no name)"))


def _only(objects: list[dict[str, Any]], kind: str, name: str | None = None) -> dict[str, Any]:
    found = [o for o in objects if o.get("kind") == kind and name in (None, name_of(o))]
    if len(found) != 1:
        wanted = kind if name is None else f"{kind} {name}, which the RayJob's submitter mounts"
        raise RehearsalError(
            wanted,
            f"{len(found)} in the assembly ({', '.join(map(name_of, found)) or 'none'})",
            "exactly one",
            "The Training stack makes it: look at stacks/training.py, and whether --assembly is of one environment.",
        )
    return found[0]


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts in nested intrinsics: they name the resource, attribute or export."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield str(value)
