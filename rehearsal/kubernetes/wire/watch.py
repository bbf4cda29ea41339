"""Lists, and the changes to them as they come."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rehearsal.kubernetes.api.objects import Object, labels_of
from rehearsal.kubernetes.api.resources import Resource
from rehearsal.kubernetes.api.selectors import field_selector, fields_match, requirements, satisfies
from rehearsal.kubernetes.api.store import Store
from rehearsal.kubernetes.wire.request import Request, Target

# Clients ask for their own time; without one the server ends a watch, and they start it anew.
TIMEOUT_SECONDS = 1800.0


@dataclass(frozen=True)
class Selection:
    """Which objects of a resource a list or a watch is about."""

    resource: Resource
    namespace: str
    name: str
    labels: list[Object]
    fields: list[tuple[str, bool, str]]

    def has(self, obj: Object | None) -> bool:
        """Whether an object is one of them."""
        if obj is None or self.namespace not in ("", obj["metadata"].get("namespace")):
            return False
        named = self.name in ("", obj["metadata"]["name"])
        return named and satisfies(labels_of(obj), self.labels) and fields_match(obj, self.fields)

    def of(self, obj: Object) -> Object:
        """Return an object in the version that was asked for."""
        return (
            obj if obj["apiVersion"] == self.resource.api_version else {**obj, "apiVersion": self.resource.api_version}
        )


def selection(request: Request, target: Target) -> Selection:
    """Return what a request lists or watches."""
    return Selection(
        target.resource,
        target.namespace,
        target.name,
        requirements(request.query.get("labelSelector", "")),
        field_selector(request.query.get("fieldSelector", "")),
    )


def listed(store: Store, chosen: Selection) -> Object:
    """Return the list of the objects that are there now."""
    resource = chosen.resource
    with store.lock:
        found = store.of(resource.group, resource.plural, chosen.namespace)
        version = str(store.version)
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": version},
        "items": [chosen.of(obj) for obj in found if chosen.has(obj)],
    }


def changes(store: Store, chosen: Selection, query: Request) -> Iterator[Object]:
    """Yield watch events until the time is up or the server stops."""
    resource = chosen.resource
    deadline = time.monotonic() + float(query.query.get("timeoutSeconds") or TIMEOUT_SECONDS)
    version = int(query.query.get("resourceVersion") or 0)
    initial = query.query.get("sendInitialEvents") == "true"
    if initial or not version:
        first = listed(store, chosen)
        version = int(first["metadata"]["resourceVersion"])
        yield from ({"type": "ADDED", "object": obj} for obj in first["items"])
    if initial:
        metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
        bookmark = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        yield {"type": "BOOKMARK", "object": bookmark}
    while not store.closed and (left := deadline - time.monotonic()) > 0:
        store.wait(version, left)
        for change in store.changes_after(version):
            version = change.version
            if change.key[:2] != (resource.group, resource.plural):
                continue
            before, after = chosen.has(change.old), chosen.has(change.new)
            if after and change.new:
                yield {"type": "MODIFIED" if before else "ADDED", "object": chosen.of(change.new)}
            elif before and change.old:
                metadata = {**change.old["metadata"], "resourceVersion": str(version)}
                yield {"type": "DELETED", "object": chosen.of({**change.old, "metadata": metadata})}
