"""What goes with something else: the content of a namespace, and what belongs to an owner that is gone."""

from rehearsal.kubernetes.api.objects import name_of
from rehearsal.kubernetes.api.verbs import Api


class NamespaceController:
    """Empties a namespace that is to be deleted; then lets go of it."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def reconcile(self) -> float | None:
        """Delete what is in namespaces on their way out."""
        namespaces = self._api.resources.find("", "v1", "namespaces")
        for namespace in self._api.store.of("", "namespaces"):
            if not namespace["metadata"].get("deletionTimestamp"):
                continue
            name = name_of(namespace)
            for key in self._api.store.keys(name):
                obj = self._api.store.get(key)
                if obj and not obj["metadata"].get("deletionTimestamp"):
                    self._api.delete(self._api.resources.stored(key.group, key.plural), name, key.name)
            if not self._api.store.keys(name):
                empty = {**namespace, "spec": {**namespace["spec"], "finalizers": []}}
                self._api.update(namespaces, "", name, empty, subresource="finalize")
        return None


class GarbageCollector:
    """Deletes objects whose owners are all gone."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def reconcile(self) -> float | None:
        """Delete what lost its owners."""
        items = self._api.store.items()
        living = {obj["metadata"]["uid"] for obj in items.values()}
        for key, obj in items.items():
            owners = obj["metadata"].get("ownerReferences") or []
            orphaned = owners and not any(owner["uid"] in living for owner in owners)
            if orphaned and not obj["metadata"].get("deletionTimestamp"):
                self._api.delete(self._api.resources.stored(key.group, key.plural), key.namespace, key.name)
        return None
