"""What KubeRay 1.7 refuses after the API server took it (its ray-operator/controllers/ray/utils/validation.go)."""

import re
from typing import Any

from rehearsal.kubernetes.api.objects import Object, name_of

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
_CLUSTER_POLICIES = ("DeleteCluster", "DeleteWorkers")
SELECTOR_KEY = "ray.io/cluster"


def ray_job_fault(job: Object) -> str:
    """Return why the operator will not run a RayJob, empty when it will."""
    return next((message for wrong, message in _ray_job_checks(job) if wrong), "")


def ray_cluster_fault(cluster: Object) -> str:
    """Return why the operator will not make a RayCluster, empty when it will."""
    name, spec = name_of(cluster), cluster["spec"]
    if not (len(name) <= 53 and _DNS_1035.fullmatch(name)):
        return f"RayCluster name should be a DNS-1035 label of no more than 53 characters: {name}"
    if not (spec["headGroupSpec"]["template"].get("spec") or {}).get("containers"):
        return "headGroupSpec should have at least one container"
    names = [group["groupName"] for group in spec.get("workerGroupSpecs") or []]
    if len(set(names)) < len(names):
        return f"workerGroupSpecs must have unique groupNames: {names}"
    for group in spec.get("workerGroupSpecs") or []:
        if not group["template"]["spec"].get("containers"):
            return f"workerGroupSpec {group['groupName']} should have at least one container"
        bounded = {"minReplicas", "maxReplicas"} <= group.keys()
        if not spec.get("enableInTreeAutoscaling") and not bounded:
            return f"worker group {group['groupName']}: minReplicas and maxReplicas must be set without autoscaling"
        if bounded and group["minReplicas"] > group["maxReplicas"]:
            return f"worker group {group['groupName']} has minReplicas greater than maxReplicas"
    return ""


def _ray_job_checks(job: Object) -> list[tuple[Any, str]]:
    name, spec = name_of(job), job["spec"]
    mode = spec.get("submissionMode", "K8sJobMode")
    selector = spec.get("clusterSelector") or {}
    shutdown = spec.get("shutdownAfterJobFinishes")
    ttl = spec.get("ttlSecondsAfterFinished")
    deletion = spec.get("deletionStrategy") or {}
    rules = deletion.get("deletionRules") or []
    policies = {rule.get("policy") for rule in rules}
    legacy = {"onSuccess", "onFailure"} & deletion.keys()
    head = ((spec.get("rayClusterSpec") or {}).get("headGroupSpec") or {}).get("template") or {}
    backoff = spec.get("backoffLimit")
    return [
        (
            not (len(name) <= 47 and _DNS_1035.fullmatch(name)),
            f"RayJob name should be a DNS-1035 label of no more than 47 characters: {name}",
        ),
        (mode not in _MODES, f"the submissionMode is unknown: {mode}"),
        (
            spec.get("suspend") and not shutdown,
            "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
        ),
        (spec.get("suspend") and selector, "the ClusterSelector mode doesn't support the suspend operation"),
        (
            ttl and not shutdown,
            "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished",
        ),
        ((ttl or 0) < 0, "TTLSecondsAfterFinished must be a non-negative integer"),
        (not selector and not spec.get("rayClusterSpec"), "one of RayClusterSpec or ClusterSelector must be set"),
        (selector and not selector.get(SELECTOR_KEY), f"the ClusterSelector must have a non-empty {SELECTOR_KEY}"),
        (selector and mode == "SidecarMode", "ClusterSelector is not supported in SidecarMode"),
        (selector and backoff, "BackoffLimit is incompatible with ClusterSelector"),
        (
            selector and policies.intersection(_CLUSTER_POLICIES),
            "DeleteCluster and DeleteWorkers are not supported when ClusterSelector is set",
        ),
        (mode == "InteractiveMode" and backoff, "BackoffLimit is incompatible with InteractiveMode"),
        (
            mode == "SidecarMode" and (spec.get("submitterPodTemplate") or spec.get("submitterConfig")),
            "SidecarMode doesn't support SubmitterPodTemplate and SubmitterConfig",
        ),
        (
            mode == "SidecarMode" and (head.get("spec") or {}).get("restartPolicy", "Never") != "Never",
            "restartPolicy for the head Pod should be Never when using SidecarMode",
        ),
        (
            rules and shutdown,
            "spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually exclusive",
        ),
        (rules and legacy, "onSuccess/onFailure and deletionRules cannot be used together in deletionStrategy"),
        (_out_of_order(rules), "deletionRules: the TTLs must be ordered DeleteWorkers <= DeleteCluster <= DeleteSelf"),
        ((backoff or 0) < 0, "backoffLimit must be a positive integer"),
        (spec.get("activeDeadlineSeconds", 1) <= 0, "activeDeadlineSeconds must be a positive integer"),
        (spec.get("preRunningDeadlineSeconds", 1) <= 0, "preRunningDeadlineSeconds must be a positive integer"),
    ]


def _out_of_order(rules: list[Object]) -> bool:
    """Whether, for one outcome, what contains more is deleted before what it contains."""
    order = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
    by_outcome: dict[str, dict[str, int]] = {}
    for rule in rules:
        condition = rule.get("condition") or {}
        outcome = str(condition.get("jobStatus") or condition.get("jobDeploymentStatus"))
        by_outcome.setdefault(outcome, {})[str(rule.get("policy"))] = condition.get("ttlSeconds", 0)
    times = [[ttl[policy] for policy in order if policy in ttl] for ttl in by_outcome.values()]
    return any(listed != sorted(listed) for listed in times)
