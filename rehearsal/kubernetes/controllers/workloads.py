"""Deployments, ReplicaSets and DaemonSets: as many pods as they ask for, and a status that says how many are ready."""

import hashlib
import json

from rehearsal.kubernetes.api.objects import Object, holds, labels_of, name_of, with_condition
from rehearsal.kubernetes.controllers.base import Objects
from rehearsal.kubernetes.controllers.placement import finished, may_run_on, untolerated

HASH = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


class DeploymentController:
    """One ReplicaSet per pod template; the old ones are emptied once the new one is ready."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Bring every Deployment a step further."""
        for deployment in self._objects.of("Deployment"):
            if not deployment["metadata"].get("deletionTimestamp"):
                self._advance(deployment)
        return None

    def _advance(self, deployment: Object) -> None:
        spec = deployment["spec"]
        digest = _hash(spec["template"])
        sets = self._objects.owned("ReplicaSet", deployment)
        current = next((entry for entry in sets if labels_of(entry).get(HASH) == digest), None)
        if current is None:
            current = self._objects.create("ReplicaSet", deployment, _replica_set(deployment, digest, len(sets) + 1))
            if current is None:
                return
        self._scale(current, spec["replicas"])
        ready = (current.get("status") or {}).get("readyReplicas", 0)
        complete = ready >= spec["replicas"]
        others = [entry for entry in sets if name_of(entry) != name_of(current)]
        if complete:
            for entry in others:
                self._scale(entry, 0)
        total = sum((entry.get("status") or {}).get("replicas", 0) for entry in [current, *others])
        conditions = with_condition(deployment, "Available", str(complete), "MinimumReplicasAvailable")
        reason = "NewReplicaSetAvailable" if complete else "ReplicaSetUpdated"
        conditions = with_condition({**deployment, "status": {"conditions": conditions}}, "Progressing", "True", reason)
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": total,
            "updatedReplicas": (current.get("status") or {}).get("replicas", 0),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(0, spec["replicas"] - ready),
            "conditions": conditions,
        }
        self._objects.set_status(deployment, status)

    def _scale(self, replica_set: Object, replicas: int) -> None:
        if replica_set["spec"]["replicas"] != replicas:
            self._objects.replace({**replica_set, "spec": {**replica_set["spec"], "replicas": replicas}})


class ReplicaSetController:
    """As many pods as stated."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Make and delete pods."""
        for replica_set in self._objects.of("ReplicaSet"):
            if replica_set["metadata"].get("deletionTimestamp"):
                continue
            spec = replica_set["spec"]
            pods = [pod for pod in self._objects.owned("Pod", replica_set) if not finished(pod)]
            for pod in pods[spec["replicas"] :]:
                self._objects.delete(pod)
            for _ in range(spec["replicas"] - len(pods)):
                pod = _pod(replica_set)
                if self._objects.create("Pod", replica_set, pod) is None:
                    break
            ready = len([pod for pod in pods if holds(pod, "Ready")])
            status = {
                "observedGeneration": replica_set["metadata"]["generation"],
                "replicas": len(pods),
                "fullyLabeledReplicas": len(pods),
                "readyReplicas": ready,
                "availableReplicas": ready,
            }
            self._objects.set_status(replica_set, status)
        return None


class DaemonSetController:
    """A pod on each node that the template's selector, affinity and tolerations allow."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Make and delete pods; a changed template replaces them all at once."""
        for daemon_set in self._objects.of("DaemonSet"):
            if not daemon_set["metadata"].get("deletionTimestamp"):
                self._advance(daemon_set)
        return None

    def _advance(self, daemon_set: Object) -> None:
        template = daemon_set["spec"]["template"]["spec"]
        digest = _hash(daemon_set["spec"]["template"])
        nodes = {name_of(node): node for node in self._objects.of("Node")}
        tolerations = template.get("tolerations") or []
        wanted = {
            name for name, node in nodes.items() if may_run_on(template, node) and not untolerated(node, tolerations)
        }
        kept: dict[str, Object] = {}
        for pod in self._objects.owned("Pod", daemon_set):
            node = _wanted_node(pod)
            if node in wanted and node not in kept and labels_of(pod).get(HASH) == digest and not finished(pod):
                kept[node] = pod
            else:
                self._objects.delete(pod)
        for node in sorted(wanted - kept.keys()):
            if self._objects.create("Pod", daemon_set, _pod(daemon_set, {HASH: digest}, node=node)) is None:
                break
        ready = len([pod for pod in kept.values() if holds(pod, "Ready")])
        status = {
            "observedGeneration": daemon_set["metadata"]["generation"],
            "desiredNumberScheduled": len(wanted),
            "currentNumberScheduled": len(kept),
            "updatedNumberScheduled": len(kept),
            "numberReady": ready,
            "numberAvailable": ready,
            "numberUnavailable": len(wanted) - ready,
            "numberMisscheduled": 0,
        }
        self._objects.set_status(daemon_set, status)


def _hash(template: Object) -> str:
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def _replica_set(deployment: Object, digest: str, revision: int) -> Object:
    spec = deployment["spec"]
    metadata = spec["template"].get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH: digest}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH: digest}}
    return {
        "metadata": {
            "name": f"{name_of(deployment)}-{digest}",
            "labels": labels,
            "annotations": {_REVISION: str(revision)},
        },
        "spec": {
            "replicas": spec["replicas"],
            "selector": selector,
            "template": {**spec["template"], "metadata": {**metadata, "labels": labels}},
        },
    }


def _pod(owner: Object, labels: dict[str, str] | None = None, *, node: str = "") -> Object:
    template = owner["spec"]["template"]
    metadata = {**(template.get("metadata") or {}), "generateName": f"{name_of(owner)}-"}
    metadata["labels"] = {**(metadata.get("labels") or {}), **(labels or {})}
    spec = dict(template["spec"])
    if node:
        # As the real controller does: the scheduler places the pod, on this node only.
        only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}}
        spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": required}
    return {"metadata": metadata, "spec": spec}


def _wanted_node(pod: Object) -> str:
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
