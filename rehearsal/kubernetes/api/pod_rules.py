"""What Kubernetes refuses in a pod's spec beyond its schema."""

import re
from collections.abc import Iterator
from typing import Any

from rehearsal.kubernetes.api.errors import Fault
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.quantities import quantity

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def pod_faults(spec: Object, path: str, *, always: bool | None) -> Iterator[Fault]:
    """Yield what is wrong with a pod's spec at `path`.

    `always` says which restart policy its owner demands: True Always, False the others, stated; None any.
    """
    policy = spec.get("restartPolicy")
    if always is False and policy not in ("OnFailure", "Never"):
        kind = f'Unsupported value: "{policy}"' if policy else "Required value"
        message = f'{kind}: valid values: "OnFailure", "Never"'
        yield Fault(field=f"{path}.restartPolicy", message=message, reason="FieldValueRequired")
    if always and policy not in (None, "Always"):
        message = f'Unsupported value: "{policy}": supported values: "Always"'
        yield Fault(field=f"{path}.restartPolicy", message=message, reason="FieldValueNotSupported")
    if not spec.get("containers"):
        yield Fault(field=f"{path}.containers", message="Required value", reason="FieldValueRequired")
    volumes = {volume["name"] for volume in spec.get("volumes") or []}
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(group) or []):
            place = f"{path}.{group}[{number}]"
            yield from _container_faults(container, place, volumes)
            if container["name"] in seen:
                message = f'Duplicate value: "{container["name"]}"'
                yield Fault(field=f"{place}.name", message=message, reason="FieldValueDuplicate")
            seen.add(container["name"])
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    if required := affinity.get("requiredDuringSchedulingIgnoredDuringExecution"):
        place = f"{path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        yield from _term_faults(required.get("nodeSelectorTerms") or [], place)


def _term_faults(terms: list[Object], place: str) -> Iterator[Fault]:
    if not terms:
        message = "Required value: must have at least one node selector term"
        yield Fault(field=place, message=message, reason="FieldValueRequired")
    for number, term in enumerate(terms):
        for at, expression in enumerate(term.get("matchExpressions") or []):
            field = f"{place}[{number}].matchExpressions[{at}]"
            count = len(expression.get("values") or [])
            match expression["operator"]:
                case "In" | "NotIn" if not count:
                    message = "Required value: must be specified when `operator` is 'In' or 'NotIn'"
                    yield Fault(field=f"{field}.values", message=message, reason="FieldValueRequired")
                case "Gt" | "Lt" if count != 1:
                    message = "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"
                    yield Fault(field=f"{field}.values", message=message, reason="FieldValueRequired")
                case "Exists" | "DoesNotExist" if count:
                    message = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                    yield Fault(field=f"{field}.values", message=message, reason="FieldValueForbidden")
                case "In" | "NotIn" | "Gt" | "Lt" | "Exists" | "DoesNotExist":
                    pass
                case other:
                    yield Fault(
                        field=f"{field}.operator", message=f'Invalid value: "{other}": not a valid selector operator'
                    )


def _container_faults(container: Object, place: str, volumes: set[str]) -> Iterator[Fault]:
    name = container["name"]
    if len(name) > 63 or not _LABEL.fullmatch(name):
        yield Fault(field=f"{place}.name", message=f'Invalid value: "{name}": a lowercase RFC 1123 label is needed')
    if not container.get("image"):
        yield Fault(field=f"{place}.image", message="Required value", reason="FieldValueRequired")
    for number, mount in enumerate(container.get("volumeMounts") or []):
        if mount["name"] not in volumes:
            field = f"{place}.volumeMounts[{number}].name"
            yield Fault(field=field, message=f'Not found: "{mount["name"]}"', reason="FieldValueNotFound")
    yield from _resource_faults(container.get("resources") or {}, f"{place}.resources")


def _resource_faults(resources: Object, place: str) -> Iterator[Fault]:
    limits: dict[str, Any] = resources.get("limits") or {}
    requests: dict[str, Any] = resources.get("requests") or {}
    for group, listed in (("limits", limits), ("requests", requests)):
        for name, amount in listed.items():
            try:
                number = quantity(amount)
            except ValueError:
                message = f'Invalid value: "{amount}": quantities must match the regular expression of quantities'
                yield Fault(field=f"{place}.{group}[{name}]", message=message)
                return
            if _is_device(name) and number % 1:
                message = f'Invalid value: "{amount}": must be an integer'
                yield Fault(field=f"{place}.{group}[{name}]", message=message)
    for name, amount in requests.items():
        if name in limits and quantity(amount) > quantity(limits[name]):
            message = f'Invalid value: "{amount}": must be less than or equal to {name} limit of {limits[name]}'
            yield Fault(field=f"{place}.requests", message=message)
        elif name in limits and _is_device(name) and quantity(amount) != quantity(limits[name]):
            message = f'Invalid value: "{amount}": must be equal to {name} limit of {limits[name]}'
            yield Fault(field=f"{place}.requests", message=message)
        elif name not in limits and _is_device(name):
            message = "Required value: Limit must be set for non overcommitable resources"
            yield Fault(field=f"{place}.limits[{name}]", message=message, reason="FieldValueRequired")


def _is_device(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/")
