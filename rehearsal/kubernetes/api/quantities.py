"""Kubernetes' quantities (`500m`, `8Gi`) and what a pod asks of a node."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_SUFFIXES = {
    **{name: Decimal(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
    **{name: Decimal(1000) ** power for power, name in enumerate(("k", "M", "G", "T", "P", "E"), 1)},
    **{name: Decimal(1000) ** -power for power, name in enumerate(("m", "u", "n"), 1)},
}
Amounts = dict[str, Decimal]


def quantity(value: str | int | float) -> Decimal:
    """Return a quantity as a number: cores, bytes, devices. ValueError when it is none."""
    text = str(value)
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return _number(text.removesuffix(suffix)) * factor
    return _number(text)


def amounts(listed: Mapping[str, Any] | None) -> Amounts:
    """Return a resource list as numbers."""
    return {name: quantity(value) for name, value in (listed or {}).items()}


def total(parts: "list[Amounts]") -> Amounts:
    """Return the sum of amounts."""
    made: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            made[name] = made.get(name, Decimal(0)) + amount
    return made


def requests_of(container: Mapping[str, Any]) -> Amounts:
    """Return what a container asks for: its requests, and its limits where it states only those."""
    stated = container.get("resources") or {}
    return {**amounts(stated.get("limits")), **amounts(stated.get("requests"))}


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """Return what a node must have for a pod: for its containers together, or for its largest init container."""
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    needed = total([requests_of(container) for container in [*spec["containers"], *sidecars]])
    for container in spec.get("initContainers") or []:
        for name, amount in requests_of(container).items():
            needed[name] = max(needed.get(name, Decimal(0)), amount)
    return {name: amount for name, amount in needed.items() if amount}


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text!r} is not a quantity") from None
