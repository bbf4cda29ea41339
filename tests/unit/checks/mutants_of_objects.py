"""Mutants whose Kubernetes objects are changed."""

from typing import Any

from tests.synthesis import settings_with
from tests.unit.checks.drafts import Draft, amounts
from tests.unit.checks.mutant import mutant


def _head_of(broken: Draft, cpu: int) -> None:
    broken.settings = settings_with({"ray.head.cpu": cpu})
    amounts(_main(broken.head), "cpu", str(cpu))


def _main(group: Any) -> Any:
    return group["template"]["spec"]["containers"][0]


def _fewer_gpus(broken: Draft) -> None:
    amounts(_main(broken.worker), "nvidia.com/gpu", "2")
    broken.worker["rayStartParams"]["num-gpus"] = "2"


OBJECTS = (
    mutant("worker-count", "one worker for two nodes", lambda broken: broken.worker.update(replicas=1)),
    mutant("gpu-count", "half of the GPUs", _fewer_gpus),
    mutant("efa-count", "no EFA", lambda broken: amounts(_main(broken.worker), "vpc.amazonaws.com/efa", "0")),
    mutant("ray-gpu-count", "Ray counts 8", lambda broken: broken.worker["rayStartParams"].update({"num-gpus": "8"})),
    mutant(
        "requests-are-limits",
        "a worker may use more CPU than it asks for",
        lambda broken: amounts(_main(broken.worker), "cpu", "10", "requests"),
    ),
    mutant(
        "requests-are-limits",
        "the submitter states no limits",
        lambda broken: broken.ray_job["submitterPodTemplate"]["spec"]["containers"][0]["resources"].pop("limits"),
    ),
    mutant("pod-fits", "the AWS sample's head", lambda broken: _head_of(broken, cpu=4)),
    mutant("pod-node", "a head for any node", lambda broken: broken.head["template"]["spec"].pop("nodeSelector")),
    mutant(
        "pod-toleration", "a check that is turned away", lambda broken: broken.job("fabric-check").pop("tolerations")
    ),
    mutant(
        "pod-toleration",
        "a head that tolerates the taint",
        lambda broken: broken.head["template"]["spec"].update(tolerations=[{"operator": "Exists"}]),
    ),
    mutant("gpu-visibility", "a head that sees GPUs", lambda broken: _main(broken.head)["env"].clear()),
    mutant("huge-pages", "huge pages", lambda broken: amounts(_main(broken.worker), "hugepages-2Mi", "5120Mi")),
    mutant("code-present", "no train.py", lambda broken: broken.of_kind("ConfigMap")["data"].pop("train.py")),
    mutant("code-present", "no supervisor", lambda broken: broken.of_kind("ConfigMap")["data"].pop("supervise.py")),
    mutant(
        "code-size", "a data set as code", lambda broken: broken.of_kind("ConfigMap")["data"].update(x="x" * 300_000)
    ),
    mutant(
        "object-size",
        "a variable of 300 kB",
        lambda broken: _main(broken.worker)["env"].append({"name": "LONG", "value": "x" * 300_000}),
    ),
    mutant("ray-name", "a job's name of 48", lambda broken: broken.of_kind("RayJob")["metadata"].update(name="a" * 48)),
    mutant("ray-replicas", "no bounds", lambda broken: broken.worker.pop("minReplicas")),
    mutant(
        "ray-groups",
        "two groups of one name",
        lambda broken: broken.of_kind("RayCluster")["spec"]["workerGroupSpecs"].append(
            {**broken.worker, "replicas": 0, "minReplicas": 0, "maxReplicas": 0}
        ),
    ),
    mutant("ray-token", "no token", lambda broken: broken.of_kind("RayCluster")["spec"].pop("authOptions")),
    mutant("ray-token", "no version", lambda broken: broken.of_kind("RayCluster")["spec"].update(rayVersion="latest")),
    mutant("ray-head-empty", "ranks on the head", lambda broken: broken.head["rayStartParams"].pop("num-cpus")),
    mutant("entrypoint-shell", "two commands", lambda broken: broken.ray_job.update(entrypoint="python a; curl b")),
    mutant("entrypoint-shell", "a substitution", lambda broken: broken.ray_job.update(entrypoint="python $(id)")),
    mutant(
        "entrypoint-shell",
        "a substitution in a variable",
        lambda broken: broken.ray_job.update(runtimeEnvYAML='env_vars: {A: "`id`"}'),
    ),
    mutant("ray-job-environment", "no YAML", lambda broken: broken.ray_job.update(runtimeEnvYAML="a: [")),
    mutant("ray-job-mode", "an unknown mode", lambda broken: broken.ray_job.update(submissionMode="Bogus")),
    mutant(
        "ray-job-cluster",
        "a cluster that there is not",
        lambda broken: broken.ray_job.update(clusterSelector={"ray.io/cluster": "other"}),
    ),
    mutant("ray-job-selector", "a suspended job", lambda broken: broken.ray_job.update(suspend=True)),
    mutant("ray-job-selector", "retries", lambda broken: broken.ray_job.update(backoffLimit=1)),
    mutant("ray-job-selector", "a sidecar", lambda broken: broken.ray_job.update(submissionMode="SidecarMode")),
    mutant(
        "ray-job-selector",
        "a job that deletes the cluster",
        lambda broken: broken.ray_job.update(deletionStrategy={"deletionRules": [{"policy": "DeleteCluster"}]}),
    ),
    mutant("ray-job-end", "a TTL alone", lambda broken: broken.ray_job.update(ttlSecondsAfterFinished=60)),
    mutant(
        "ray-job-end",
        "two ways to end",
        lambda broken: broken.ray_job.update(
            shutdownAfterJobFinishes=True, deletionStrategy={"deletionRules": [{"policy": "DeleteSelf"}]}
        ),
    ),
    mutant("ray-job-deadline", "no deadline", lambda broken: broken.ray_job.pop("activeDeadlineSeconds")),
    mutant(
        "ray-job-deadline",
        "a deadline before running of 0",
        lambda broken: broken.ray_job.update(preRunningDeadlineSeconds=0),
    ),
)
