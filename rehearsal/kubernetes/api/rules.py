"""What Kubernetes refuses beyond the schema: names, sizes, pods that cannot be, and fields that may not change."""

import re
from collections.abc import Iterator
from typing import Any

from rehearsal.kubernetes.api.errors import Fault
from rehearsal.kubernetes.api.objects import Object, labels_of
from rehearsal.kubernetes.api.pod_rules import pod_faults
from rehearsal.kubernetes.api.selectors import selects

ANNOTATIONS_LIMIT = 262_144
DATA_LIMIT = 1_048_576
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_NAMES = {"Namespace", "Service"}
# Names of RBAC objects are path segments.
_FREE_NAMES = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
_TEMPLATES = {"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"}
_IMMUTABLE = {
    "Job": ("template", "completionMode", "selector", "podFailurePolicy", "backoffLimitPerIndex"),
    "Deployment": ("selector",),
    "ReplicaSet": ("selector",),
    "DaemonSet": ("selector",),
}


def faults(obj: Object) -> Iterator[Fault]:
    """Yield what is wrong with an object by itself."""
    yield from _metadata_faults(obj)
    spec = obj.get("spec") or {}
    match obj["kind"]:
        case "ConfigMap" | "Secret":
            values = {**(obj.get("data") or {}), **(obj.get("binaryData") or {})}.values()
            if sum(len(value.encode()) for value in values) > DATA_LIMIT:
                yield Fault(field="data", message=f"Too long: may not be more than {DATA_LIMIT} bytes")
        case "Pod":
            yield from pod_faults(spec, "spec", always=None)
        case "Job":
            yield from pod_faults(spec["template"].get("spec") or {}, "spec.template.spec", always=False)
            for name in ("completions", "parallelism", "backoffLimit", "activeDeadlineSeconds"):
                if (spec.get(name) or 0) < 0:
                    message = f"Invalid value: {spec[name]}: must be greater than or equal to 0"
                    yield Fault(field=f"spec.{name}", message=message)
        case kind if kind in _TEMPLATES:
            yield from pod_faults(spec["template"].get("spec") or {}, "spec.template.spec", always=True)
            labels = (spec["template"].get("metadata") or {}).get("labels") or {}
            if not selects(spec.get("selector"), labels):
                message = f"Invalid value: {labels}: `selector` does not match template `labels`"
                yield Fault(field="spec.template.metadata.labels", message=message)


def change_faults(old: Object, new: Object) -> Iterator[Fault]:
    """Yield what a change of an object may not do."""
    kind = new["kind"]
    before, after = old.get("spec") or {}, new.get("spec") or {}
    immutable = list(_IMMUTABLE.get(kind, ()))
    if kind == "Job" and before.get("completionMode") != "Indexed":
        immutable.append("completions")
    for name in immutable:
        if before.get(name) != after.get(name):
            yield _unchangeable(f"spec.{name}", after.get(name))
    if kind in ("ConfigMap", "Secret") and old.get("immutable"):
        message = "Forbidden: field is immutable when `immutable` is set"
        for name in ("data", "binaryData", "immutable"):
            if old.get(name) != new.get(name):
                yield Fault(field=name, message=message, reason="FieldValueForbidden")
    if kind == "PriorityClass" and old["value"] != new["value"]:
        message = "Forbidden: may not be changed in an update."
        yield Fault(field="value", message=message, reason="FieldValueForbidden")
    if kind == "Pod" and _without_images(before) != _without_images(after):
        message = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
        yield Fault(field="spec", message=message, reason="FieldValueForbidden")


def _metadata_faults(obj: Object) -> Iterator[Fault]:
    name, kind = str(obj["metadata"].get("name", "")), obj["kind"]
    if kind in _LABEL_NAMES and not (len(name) <= 63 and _LABEL.fullmatch(name)):
        rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
        yield Fault(field="metadata.name", message=f'Invalid value: "{name}": {rule}')
    elif kind not in _FREE_NAMES and not (len(name) <= 253 and _SUBDOMAIN.fullmatch(name)):
        rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        yield Fault(field="metadata.name", message=f'Invalid value: "{name}": {rule}')
    if kind == "Job" and len(name) > 63:
        yield Fault(field="spec.template.labels", message=f'Invalid value: "{name}": must be no more than 63 bytes')
    for label in labels_of(obj).values():
        if len(label) > 63 or not _LABEL_VALUE.fullmatch(label):
            rule = "a valid label must be an empty string or at most 63 of alphanumeric characters, '-', '_' or '.'"
            yield Fault(field="metadata.labels", message=f'Invalid value: "{label}": {rule}')
    annotations = obj["metadata"].get("annotations") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"
        yield Fault(field="metadata.annotations", message=message, reason="FieldValueTooLong")


def _unchangeable(field: str, value: Any) -> Fault:
    shown = str(value)
    return Fault(field=field, message=f"Invalid value: {shown[:200]}{'...' * (len(shown) > 200)}: field is immutable")


def _without_images(spec: Object) -> Object:
    return {**spec, "containers": [{**container, "image": ""} for container in spec.get("containers") or []]}
