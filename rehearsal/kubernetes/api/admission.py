"""What needs the other objects to decide: namespaces, service accounts, priority classes."""

from rehearsal.kubernetes.api.errors import forbidden, not_found
from rehearsal.kubernetes.api.objects import Object, name_of
from rehearsal.kubernetes.api.resources import Resource
from rehearsal.kubernetes.api.store import Key, Store

_PRIORITY = "scheduling.k8s.io"
# Kubernetes has these from the start.
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def check_namespace(store: Store, resource: Resource, namespace: str, name: str) -> None:
    """Refuse a new object whose namespace is missing or on its way out."""
    found = store.get(Key("", "namespaces", "", namespace))
    if found is None:
        raise not_found("namespaces", "", namespace)
    if found["metadata"].get("deletionTimestamp"):
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(resource.plural, resource.group, name, why)


def admitted_pod(store: Store, namespace: str, pod: Object) -> Object:
    """Return a new pod with the priority of its class; refuse an unknown class or service account."""
    spec, name = pod["spec"], name_of(pod)
    account = spec["serviceAccountName"]
    if store.get(Key("", "serviceaccounts", namespace, account)) is None:
        why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise forbidden("pods", "", name, why)
    priority = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    if class_name := spec.get("priorityClassName"):
        found = store.get(Key(_PRIORITY, "priorityclasses", "", class_name))
        if found is not None:
            priority = {"priority": found["value"], "preemptionPolicy": found["preemptionPolicy"]}
        elif class_name in SYSTEM_PRIORITIES:
            priority["priority"] = SYSTEM_PRIORITIES[class_name]
        else:
            raise forbidden("pods", "", name, f"no PriorityClass with name {class_name} was found")
    return {**pod, "spec": {**spec, **priority}, "status": {"phase": "Pending"}}
