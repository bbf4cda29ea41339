"""A stand-in for the RayJob half of the KubeRay operator: everything but running the job.

The contract with whoever runs it is in this folder's README: a RayJob whose `jobDeploymentStatus` is Running and whose
`jobStatus` is absent waits for a runner, which patches the status to its end.
"""

from rehearsal.kubernetes.api.objects import Object, name_of, namespace_of, seconds_since, timestamp
from rehearsal.kubernetes.controllers.base import Objects
from rehearsal.kubernetes.controllers.kubelet import EXIT_CODE, OUTSIDE, ended
from rehearsal.kubernetes.controllers.kuberay_rules import SELECTOR_KEY, ray_job_fault
from rehearsal.kubernetes.controllers.placement import finished
from rehearsal.kubernetes.controllers.ray_clusters import head_service, operator_runs

FINALIZER = "ray.io/rayjob-finalizer"
_OVER = ("Complete", "Failed", "ValidationFailed")
_SUBMITTER_RETRIES = 2


class RayJobController:
    """New, Initializing (waits for its RayCluster), Running, and what follows from the end that a runner states."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Bring every RayJob a step further, while the operator runs; return when the next deadline is due."""
        if not operator_runs(self._objects):
            return None
        waits = [self._advance(job) for job in self._objects.of("RayJob")]
        return min((wait for wait in waits if wait is not None), default=None)

    def _advance(self, job: Object) -> float | None:
        if job["metadata"].get("deletionTimestamp"):
            self._release(job)
            return None
        state = (job.get("status") or {}).get("jobDeploymentStatus")
        if state is None:
            self._begin(job)
            return None
        if state in _OVER:
            self._end_submitter(job)
            return None
        reason, left = self._deadline(job, state)
        if left is not None and left <= 0:
            over = {"jobDeploymentStatus": "Failed", "reason": reason, "endTime": timestamp(), "failed": 1}
            self._objects.set_status(job, {**over, "message": "The RayJob has passed its deadline"})
            return None
        if state == "Initializing":
            self._submit(job)
        return left

    def _begin(self, job: Object) -> None:
        fault = ray_job_fault(job)
        if not fault and not job["spec"].get("clusterSelector"):
            fault = "the rehearsal runs only RayJobs with a clusterSelector"
        if fault:
            status = {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed", "message": fault}
            self._objects.set_status(job, status)
            return
        finalizers = job["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            self._objects.set_metadata(job, {"finalizers": [*finalizers, FINALIZER]})
        status = {
            "jobDeploymentStatus": "Initializing",
            "jobId": job["spec"].get("jobId") or f"{name_of(job)}-{job['metadata']['uid'][:5]}",
            "rayClusterName": job["spec"]["clusterSelector"][SELECTOR_KEY],
            "startTime": timestamp(),
        }
        self._objects.set_status(job, status)

    def _submit(self, job: Object) -> None:
        cluster = self._objects.find("RayCluster", namespace_of(job), job["status"]["rayClusterName"])
        if cluster is None or (cluster.get("status") or {}).get("state") != "ready":
            return
        address = f"{head_service(cluster)}.{namespace_of(job)}.svc.cluster.local:8265"
        submitter = self._objects.find("Job", namespace_of(job), name_of(job))
        if submitter is None:
            self._objects.set_status(job, {"dashboardURL": address})
            self._objects.create("Job", job, _submitter(job, cluster, address))
        elif any(pod["status"]["phase"] == "Running" for pod in self._objects.owned("Pod", submitter)):
            self._objects.set_status(job, {"jobDeploymentStatus": "Running"})

    def _end_submitter(self, job: Object) -> None:
        submitter = self._objects.find("Job", namespace_of(job), name_of(job))
        for pod in self._objects.owned("Pod", submitter) if submitter else []:
            if pod["status"]["phase"] == "Running" and not finished(pod):
                succeeded = job["status"].get("jobStatus") == "SUCCEEDED"
                self._objects.set_status(pod, ended(pod, 0 if succeeded else 1))

    def _release(self, job: Object) -> None:
        """Let a RayJob go; its submitter, which it owns, is collected after it."""
        finalizers = job["metadata"].get("finalizers") or []
        self._objects.set_metadata(job, {"finalizers": [entry for entry in finalizers if entry != FINALIZER]})

    @staticmethod
    def _deadline(job: Object, state: str) -> tuple[str, float | None]:
        """Return the next deadline: its reason, and the seconds left, None when there is none."""
        spec, age = job["spec"], seconds_since(job["status"]["startTime"])
        found: list[tuple[str, float]] = []
        if "activeDeadlineSeconds" in spec:
            found.append(("DeadlineExceeded", spec["activeDeadlineSeconds"] - age))
        if state == "Initializing" and "preRunningDeadlineSeconds" in spec:
            found.append(("PreRunningDeadlineExceeded", spec["preRunningDeadlineSeconds"] - age))
        return min(found, key=lambda deadline: deadline[1], default=("", None))


def _submitter(job: Object, cluster: Object, address: str) -> Object:
    """Return the Job whose pod submits; its pod ends when the outside runner says how the RayJob ended."""
    spec = job["spec"]
    image = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
    amounts = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    default = {"containers": [{"name": "ray-job-submitter", "image": image, "resources": amounts}]}
    template = spec.get("submitterPodTemplate") or {"spec": default}
    first, *others = template["spec"]["containers"]
    command = f"ray job submit --address http://{address} --submission-id {job['status']['jobId']}"
    variables = [
        {"name": "RAY_DASHBOARD_ADDRESS", "value": address},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": job["status"]["jobId"]},
    ]
    container = {
        "command": ["/bin/bash", "-ce", "--", f"{command} -- {spec.get('entrypoint', '')}"],
        **first,
        "env": [*(first.get("env") or []), *variables],
    }
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), EXIT_CODE: OUTSIDE}
    pod = {"restartPolicy": "Never", **template["spec"], "containers": [container, *others]}
    return {
        "metadata": {"name": name_of(job), "labels": {"ray.io/originated-from-cr-name": name_of(job)}},
        "spec": {
            "backoffLimit": (spec.get("submitterConfig") or {}).get("backoffLimit", _SUBMITTER_RETRIES),
            "template": {"metadata": {**metadata, "annotations": annotations}, "spec": pod},
        },
    }
