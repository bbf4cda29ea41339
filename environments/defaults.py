"""What an environment may leave out because it follows from its instance type."""

from collections.abc import Mapping
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES, worker_size

# Stands in where the file names no type that there is: that is the error to report, and not that the sizes are missing.
_ANY_TYPE = next(iter(INSTANCE_TYPES))


def with_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document``, not yet validated, with ``ray.worker`` and ``ray.shared_memory_gib`` where it does not say them."""
    match document:
        case {"ray": dict(ray)}:
            size = worker_size(INSTANCE_TYPES.get(_instance_type(document), INSTANCE_TYPES[_ANY_TYPE]))
            worker = ray.get("worker", {})
            if isinstance(worker, dict):
                worker = {"cpu": size.cpu, "memory_gib": size.memory_gib, **worker}
            filled = {"shared_memory_gib": size.shared_memory_gib, **ray, "worker": worker}
            return {**document, "ray": filled}
    return dict(document)


def _instance_type(document: Mapping[str, Any]) -> str:
    match document:
        case {"gpu_nodes": {"instance_type": str(name)}}:
            return name
    return ""
