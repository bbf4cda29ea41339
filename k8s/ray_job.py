"""The training job: its code as a ConfigMap, and the RayJob that submits it to the standing RayCluster."""

from collections.abc import Mapping
from typing import Any

import cdk8s
import cdk8s_plus_30 as kplus
import yaml
from constructs import Construct

from k8s.api_object import KubeObject, content_hash
from k8s.pods import NO_GPUS, SECURITY_CONTEXT, SYSTEM_NODE, Resources, env

WORKING_DIR = "/opt/job"
PACKAGE = "training"
SUBMITTER = Resources(cpu="500m", memory="1Gi")
# A standing cluster's pods start within minutes, on new nodes once they have the image; a job that has not begun after
# this waits for nodes that do not come.
PRE_RUNNING_DEADLINE_SECONDS = 1500
# KubeRay calls a cluster ready also while a worker is being replaced. The job waits rather than train on fewer GPUs.
WAIT_SECONDS = 900


class RayJobChart(cdk8s.Chart):
    """A RayJob whose name, ``run_name``, carries the hash of what it runs: a changed job is a new job.

    KubeRay does not run an edited RayJob again; another ``attempt`` runs the same thing anew. ``code`` maps file names
    to texts. ``arguments`` are the command line of ``python -m training.supervise`` without the run's name, its limits
    of time and the place of its results, which is ``results_uri/run_name``: that may hold a token which only the deploy
    resolves, hence it is not part of the hash.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        namespace: str,
        ray_cluster_name: str,
        image: str,
        code: Mapping[str, str],
        arguments: Mapping[str, str],
        attempt: int,
        environment: Mapping[str, str],
        results_uri: str,
        deadline_seconds: int,
    ) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        runtime_env = {
            "working_dir": WORKING_DIR,
            # A mounted ConfigMap holds each file three times: as itself and below two hidden folders that start so.
            "excludes": ["..*"],
            "env_vars": dict(environment),
        }
        what_runs = content_hash(code, arguments, attempt, runtime_env, image, ray_cluster_name, deadline_seconds)
        self.run_name = f"train-{what_runs}"
        limits = {"wait-seconds": str(WAIT_SECONDS), "deadline-seconds": str(deadline_seconds)}
        self.entrypoint = " ".join(
            [
                f"python -m {PACKAGE}.supervise",
                *(f"--{name} {value}" for name, value in {"run-name": self.run_name, **arguments, **limits}.items()),
                f"--results {results_uri}",
            ]
        )
        kplus.ConfigMap(
            self,
            "Code",
            metadata=cdk8s.ApiObjectMetadata(name=self.run_name, namespace=namespace),
            # cdk8s drops empty values, and with them an empty __init__.py.
            data={name: text or "\n" for name, text in code.items()},
            immutable=True,
        )
        KubeObject(
            self,
            "RayJob",
            api_version="ray.io/v1",
            kind="RayJob",
            name=self.run_name,
            namespace=namespace,
            body={
                "spec": {
                    "entrypoint": self.entrypoint,
                    "clusterSelector": {"ray.io/cluster": ray_cluster_name},
                    "submissionMode": "K8sJobMode",
                    "runtimeEnvYAML": yaml.safe_dump(runtime_env, sort_keys=True),
                    # The operator only marks the job as failed then; the job's own deadline, which ends it, is before.
                    "activeDeadlineSeconds": PRE_RUNNING_DEADLINE_SECONDS + WAIT_SECONDS + deadline_seconds,
                    "preRunningDeadlineSeconds": PRE_RUNNING_DEADLINE_SECONDS,
                    # Retries of the submitter alone: it finds the running job by its id and follows it.
                    "submitterConfig": {"backoffLimit": 2},
                    "submitterPodTemplate": {"spec": _submitter(image, code_config_map=self.run_name)},
                }
            },
        )


def _submitter(image: str, *, code_config_map: str) -> Any:
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "nodeSelector": SYSTEM_NODE,
        "containers": [
            {
                "name": "submitter",
                "image": image,
                "env": env(NO_GPUS),
                "resources": SUBMITTER.to_json(),
                "securityContext": SECURITY_CONTEXT,
                "volumeMounts": [{"name": "code", "mountPath": f"{WORKING_DIR}/{PACKAGE}", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "code", "configMap": {"name": code_config_map}}],
    }
