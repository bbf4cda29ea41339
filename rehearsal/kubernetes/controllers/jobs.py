"""The Job controller: pods until enough of them succeeded, too many failed, or the time is up."""

from rehearsal.kubernetes.api.objects import Object, holds, name_of, seconds_since, timestamp, with_condition
from rehearsal.kubernetes.controllers.base import Objects

INDEX = "batch.kubernetes.io/job-completion-index"


class JobController:
    """Runs Jobs. Their time to live is not kept: a finished Job stays until someone deletes it."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Bring every Job a step further; return when the next deadline is due."""
        waits = [self._advance(job) for job in self._objects.of("Job") if not _over(job)]
        return min((wait for wait in waits if wait is not None), default=None)

    def _advance(self, job: Object) -> float | None:
        spec = job["spec"]
        if job["metadata"].get("deletionTimestamp") or spec.get("suspend"):
            return None
        status = job.get("status") or {}
        started = status.get("startTime") or timestamp()
        pods = self._objects.owned("Pod", job)
        done = [pod for pod in pods if pod["status"]["phase"] == "Succeeded"]
        failed = [pod for pod in pods if pod["status"]["phase"] == "Failed"]
        active = [pod for pod in pods if pod not in done and pod not in failed]
        counts: Object = {
            "startTime": started,
            "active": len(active),
            "succeeded": len(done),
            "failed": len(failed),
            "ready": len([pod for pod in active if holds(pod, "Ready")]),
        }
        deadline = spec.get("activeDeadlineSeconds")
        left = deadline - seconds_since(started) if deadline is not None else None
        if len(done) >= spec["completions"]:
            counts["completionTime"] = timestamp()
            self._finish(
                job, counts, active, "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
            )
        elif len(failed) > spec["backoffLimit"]:
            message = "Job has reached the specified backoff limit"
            self._finish(job, counts, active, "Failed", "BackoffLimitExceeded", message)
        elif left is not None and left <= 0:
            message = "Job was active longer than specified deadline"
            self._finish(job, counts, active, "Failed", "DeadlineExceeded", message)
        else:
            self._objects.set_status(job, counts)
            self._start(job, done, active)
            return left
        return None

    def _start(self, job: Object, done: list[Object], active: list[Object]) -> None:
        spec = job["spec"]
        taken = {_index(pod) for pod in [*done, *active]}
        indices = [index for index in range(spec["completions"]) if index not in taken]
        indexed = spec["completionMode"] == "Indexed"
        wanted = min(spec["parallelism"], spec["completions"] - len(done)) - len(active)
        for number in range(max(0, wanted)):
            template = spec["template"]
            metadata = {**(template.get("metadata") or {}), "generateName": f"{name_of(job)}-"}
            if indexed:
                metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(indices[number])}
            if self._objects.create("Pod", job, {"metadata": metadata, "spec": template["spec"]}) is None:
                return

    def _finish(self, job: Object, counts: Object, active: list[Object], kind: str, reason: str, message: str) -> None:
        for pod in active:
            self._objects.delete(pod)
        first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        conditions = with_condition(job, first, "True", reason, message)
        conditions = with_condition({**job, "status": {"conditions": conditions}}, kind, "True", reason, message)
        over = {**counts, "active": 0, "ready": 0, "conditions": conditions}
        self._objects.set_status(job, over)


def _over(job: Object) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


def _index(pod: Object) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(INDEX, -1))
