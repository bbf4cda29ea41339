"""Which nodes a pod may go to, and why not to the others, in the words of the scheduler."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rehearsal.kubernetes.api.defaults import HOSTNAME
from rehearsal.kubernetes.api.objects import Object, labels_of, name_of, namespace_of
from rehearsal.kubernetes.api.quantities import amounts, pod_requests, total
from rehearsal.kubernetes.api.selectors import satisfies, selects

_FINISHED = ("Succeeded", "Failed")


def finished(pod: Object) -> bool:
    """Whether a pod has run to its end and holds nothing any more."""
    return (pod.get("status") or {}).get("phase") in _FINISHED


def obstacles(pod: Object, node: Object, neighbours: Sequence[Object]) -> list[str]:
    """Return why a pod cannot go to a node that runs `neighbours`: what the first failing check says; else nothing."""
    spec = pod["spec"]
    if node.get("spec", {}).get("unschedulable"):
        return ["node(s) were unschedulable"]
    if taint := untolerated(node, spec.get("tolerations") or []):
        return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"]
    if not may_run_on(spec, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if short := _insufficient(spec, node, neighbours):
        return short
    if any(_avoids(pod, other) or _avoids(other, pod) for other in neighbours):
        return ["node(s) didn't match pod anti-affinity rules"]
    return []


def untolerated(node: Object, tolerations: Sequence[Object]) -> Object | None:
    """Return the first taint of a node that keeps a pod with these tolerations away."""
    for taint in node.get("spec", {}).get("taints") or []:
        if taint["effect"] != "PreferNoSchedule" and not any(_tolerates(entry, taint) for entry in tolerations):
            return dict(taint)
    return None


def may_run_on(spec: Mapping[str, Any], node: Object) -> bool:
    """Whether a pod's node selector and required node affinity allow a node."""
    labels = labels_of(node)
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(
        satisfies(labels, term.get("matchExpressions") or [])
        and satisfies({"metadata.name": name_of(node)}, term.get("matchFields") or [])
        for term in required["nodeSelectorTerms"]
    )


def unschedulable_message(reasons: Iterable[Sequence[str]]) -> str:
    """Return what the scheduler says when each node has its reasons."""
    listed = list(reasons)
    if not listed:
        return "no nodes available to schedule pods"
    counts = Counter(reason for node in listed for reason in node)
    texts = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{len(listed)} nodes are available: {', '.join(texts)}."


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    exists = toleration.get("operator", "Equal") == "Exists"
    return exists or bool(toleration.get("value", "") == taint.get("value", ""))


def _insufficient(spec: Mapping[str, Any], node: Object, neighbours: Sequence[Object]) -> list[str]:
    room = amounts((node.get("status") or {}).get("allocatable"))
    used = total([pod_requests(other["spec"]) for other in neighbours])
    short = [
        f"Insufficient {name}"
        for name, amount in sorted(pod_requests(spec).items())
        if amount > room.get(name, Decimal(0)) - used.get(name, Decimal(0))
    ]
    return ["Too many pods", *short] if "pods" in room and len(neighbours) >= room["pods"] else short


def _avoids(pod: Object, other: Object) -> bool:
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
        # Nodes are told apart by their host names; other topologies (zones) are not modelled.
        if term["topologyKey"] == HOSTNAME:
            namespaces = term.get("namespaces") or [namespace_of(pod)]
            if namespace_of(other) in namespaces and selects(term.get("labelSelector"), labels_of(other)):
                return True
    return False
