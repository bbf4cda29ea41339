"""The job's code and the sizes that an object may have on its way into the cluster."""

import json
from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

# A custom resource's properties may hold 256 KiB in all, long before the 1 MiB of a ConfigMap; this leaves room for
# escaping and for the other objects.
MAX_CODE_BYTES = 200 * 1024
# kubectl apply writes the object into one of its own annotations, and those may hold so much in all.
MAX_ANNOTATIONS_BYTES = 262_144


@rule("code-present", "training/ holds what the job runs: supervise.py, which starts train.py", phase=Phase.OBJECTS)
def code_is_there(subject: Subject) -> Iterator[Problem]:
    """Without one the job ends with "No module named training.supervise", on nodes that are paid for."""
    for config_map in subject.of_kind("ConfigMap"):
        names = sorted(config_map.get("data", {}))
        if missing := [name for name in ("supervise.py", "train.py") if name not in names]:
            yield Problem(
                field="training/",
                value=", ".join(names) or "no file",
                expected=f"also {' and '.join(missing)}: the RayJob runs supervise.py, which starts train.py",
                remedy=f"restore training/{missing[0]}",
            )


@rule("code-size", "training/ is small enough to travel as a ConfigMap", phase=Phase.OBJECTS)
def code_size(subject: Subject) -> Iterator[Problem]:
    """CloudFormation's limit comes first."""
    for config_map in subject.of_kind("ConfigMap"):
        files = config_map.get("data", {})
        size = len(json.dumps(files).encode())
        if size > MAX_CODE_BYTES:
            largest = max(files, key=lambda name: len(files[name]))
            yield Problem(
                field="training/",
                value=f"{size:,} bytes, most of them in {largest}",
                expected=f"at most {MAX_CODE_BYTES:,} bytes: it travels as a ConfigMap in a CloudFormation resource",
                remedy="move data out of training/; it holds Python code alone",
            )


@rule("object-size", "every Kubernetes object is small enough for kubectl apply", phase=Phase.OBJECTS)
def object_size(subject: Subject) -> Iterator[Problem]:
    """kubectl's words for it are "metadata.annotations: Too long"."""
    for obj in subject.objects:
        size = len(json.dumps(obj, separators=(",", ":")).encode())
        if size > MAX_ANNOTATIONS_BYTES and obj["kind"] != "ConfigMap":
            yield Problem(
                field=f"{obj['kind']}: {obj['metadata']['name']}",
                value=f"{size:,} bytes",
                expected=f"at most {MAX_ANNOTATIONS_BYTES:,} bytes: kubectl apply keeps a copy of the object in an "
                "annotation of it",
                remedy="shorten what makes it long, most likely environment variables or a script",
            )
