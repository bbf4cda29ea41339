"""A hand-written cloud assembly in the form that CDK's KubernetesManifest has, and what is left over after a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

TRAINING = Path(__file__).parent.parent.parent / "training"
MOUNT_PATH = "/opt/job/training"
RUN_NAME = "train-0123456789"
CLUSTER_NAME = "ray-0123456789"
REVISION = "8faed761d45a263340a0528343f099c05c9a4323"


def training_code() -> dict[str, str]:
    """Return the repository's training folder as a ConfigMap holds it."""
    return {path.name: path.read_text() for path in sorted(TRAINING.glob("*.py"))}


def ray_cluster(*, replicas: Any = 2, gpus: Any = "4", auth: str | None = "token") -> dict[str, Any]:
    """Return a RayCluster with what the rehearsal reads of it."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": CLUSTER_NAME},
        "spec": {
            "rayVersion": "2.58.0",
            **({"authOptions": {"mode": auth}} if auth else {}),
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0", "num-gpus": "0", "dashboard-host": "0.0.0.0"}},
            "workerGroupSpecs": [
                {"groupName": "gpu-workers", "replicas": replicas, "rayStartParams": {"num-gpus": gpus}}
            ],
        },
    }


def ray_job(*, results: str = "s3://bucket/runs", mount_path: str = MOUNT_PATH, more: str = "") -> dict[str, Any]:
    """Return a RayJob with what the rehearsal reads of it."""
    runtime_env = {"working_dir": "/opt/job", "excludes": ["..*"], "env_vars": {"AWS_REGION": "us-east-2"}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": RUN_NAME},
        "spec": {
            "entrypoint": f"python -m training.supervise --run-name {RUN_NAME} --model Qwen/Qwen2.5-1.5B "
            f"--revision {REVISION} --data stdlib --steps 200 --sequence-length 1024 --micro-batch 1 "
            f"--learning-rate 2e-05 --seed 0{more} --results {results}",
            "clusterSelector": {"ray.io/cluster": CLUSTER_NAME},
            "runtimeEnvYAML": yaml.safe_dump(runtime_env),
            "submitterPodTemplate": {
                "spec": {
                    "containers": [{"name": "submitter", "volumeMounts": [{"name": "code", "mountPath": mount_path}]}],
                    "volumes": [{"name": "code", "configMap": {"name": RUN_NAME}}],
                }
            },
        },
    }


def config_map(code: Mapping[str, str], name: str = RUN_NAME) -> dict[str, Any]:
    """Return the ConfigMap that holds the job's code."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(code)}


def write_assembly(folder: Path, *manifests: Any) -> Path:
    """Write a cloud assembly of one template with `manifests`: lists of objects, or intrinsics."""
    folder.mkdir(parents=True, exist_ok=True)
    resources = {
        f"Manifest{number}": {
            "Type": "Custom::AWSCDK-EKS-KubernetesResource",
            "Properties": {"Manifest": json.dumps(manifest) if isinstance(manifest, list) else manifest},
        }
        for number, manifest in enumerate(manifests)
    }
    resources["Bucket"] = {"Type": "AWS::S3::Bucket"}
    (folder / "Training.template.json").write_text(json.dumps({"Resources": resources}))
    (folder / "Empty.template.json").write_text("{}")
    return folder


def joined(objects: list[dict[str, Any]], placeholder: str, intrinsic: dict[str, Any]) -> dict[str, Any]:
    """Return the Fn::Join that CDK writes for `objects`, with `intrinsic` wherever they say `placeholder`."""
    parts: list[Any] = []
    for text in json.dumps(objects).split(placeholder):
        parts += [text, intrinsic]
    return {"Fn::Join": ["", parts[:-1]]}


def write_training_assembly(folder: Path, code: Mapping[str, str], more: str = "", **cluster: Any) -> Path:
    """Write the assembly that the app would emit for `code`, the results' bucket being known to a deploy only.

    `more` is added to the job's command line.
    """
    job = joined([config_map(code), ray_job(results="s3://BUCKET/runs", more=more)], "BUCKET", {"Ref": "Results1234"})
    return write_assembly(folder, [ray_cluster(**cluster)], job)
