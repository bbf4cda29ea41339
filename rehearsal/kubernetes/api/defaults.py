"""Fields that Kubernetes fills in when they are absent, as far as clients or controllers here look at them."""

from typing import Any

from rehearsal.kubernetes.api.objects import Object, name_of

# kubernetes.io/hostname is the kubelet's to set; without it no pod anti-affinity works.
HOSTNAME = "kubernetes.io/hostname"
_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
_DEPLOYMENT = {
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
}
_JOB = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}
_SPECS: dict[str, dict[str, Any]] = {
    "Deployment": _DEPLOYMENT,
    "ReplicaSet": {"replicas": 1},
    "DaemonSet": {"updateStrategy": _ROLLING, "revisionHistoryLimit": 10},
    "Job": _JOB,
    "Service": {"type": "ClusterIP", "sessionAffinity": "None"},
    "Namespace": {"finalizers": ["kubernetes"]},
}


def with_defaults(obj: Object) -> Object:
    """Return an object that passed its schema with what Kubernetes would add to it, its uid included."""
    kind = obj["kind"]
    made = dict(obj)
    if kind in _SPECS:
        made["spec"] = {**_SPECS[kind], **(obj.get("spec") or {})}
    match kind:
        case "Namespace":
            made["metadata"] = _labelled(obj, {"kubernetes.io/metadata.name": name_of(obj)})
            made["status"] = {"phase": "Active", **(obj.get("status") or {})}
        case "Node":
            made["metadata"] = _labelled(obj, {HOSTNAME: name_of(obj)})
        case "PriorityClass":
            made.setdefault("preemptionPolicy", "PreemptLowerPriority")
        case "Secret":
            made.setdefault("type", "Opaque")
        case "Pod":
            made["spec"] = _pod_spec(obj["spec"])
        case "Job":
            made["spec"] = _job_spec(made)
    return made


def _labelled(obj: Object, labels: dict[str, str]) -> Object:
    metadata: Object = obj["metadata"]
    return {**metadata, "labels": {**labels, **(metadata.get("labels") or {})}}


def _pod_spec(spec: Object) -> Object:
    return {"restartPolicy": "Always", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30, **spec}


def _job_spec(job: Object) -> Object:
    """Give a Job the labels by which it finds its pods; they are part of its template from then on."""
    spec: Object = job["spec"]
    uid = job["metadata"]["uid"]
    if spec.get("selector") or spec.get("manualSelector"):
        return spec
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name_of(job),
        "controller-uid": uid,
        "job-name": name_of(job),
    }
    metadata = spec["template"].get("metadata") or {}
    template = {**spec["template"], "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    return {**spec, "selector": selector, "template": template}
