"""All objects, every change to them in order, and waiting for the next change."""

import threading
from dataclasses import dataclass
from typing import NamedTuple

from rehearsal.kubernetes.api.objects import Object


class Key(NamedTuple):
    """What an object is stored under. `namespace` is empty for what has none."""

    group: str
    plural: str
    namespace: str
    name: str


@dataclass(frozen=True)
class Change:
    """An object was made (`old` is None), changed, or removed (`new` is None)."""

    key: Key
    old: Object | None
    new: Object | None
    version: int


class Store:
    """Objects by key. They are never changed in place: a reader may keep what it got, a writer stores a new one.

    `lock` makes several calls one step. The history is never shortened: a rehearsal lasts minutes.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._objects: dict[Key, Object] = {}
        self._history: list[Change] = []
        self.closed = False

    @property
    def version(self) -> int:
        """The resource version of the last change; the first is 2."""
        return len(self._history) + 1

    def get(self, key: Key) -> Object | None:
        """Return an object, or None."""
        with self.lock:
            return self._objects.get(key)

    def of(self, group: str, plural: str, namespace: str = "") -> list[Object]:
        """Return the objects of a resource, of all namespaces when `namespace` is empty, by namespace and name."""
        with self.lock:
            keys = [key for key in self._objects if key[:2] == (group, plural) and namespace in ("", key.namespace)]
            return [self._objects[key] for key in sorted(keys)]

    def keys(self, namespace: str) -> list[Key]:
        """Return the keys of all that is in a namespace."""
        with self.lock:
            return [key for key in self._objects if key.namespace == namespace]

    def items(self) -> dict[Key, Object]:
        """Return everything there is."""
        with self.lock:
            return dict(self._objects)

    def put(self, key: Key, obj: Object) -> Object:
        """Store an object under the next resource version and return it. Storing what is there changes nothing."""
        with self.lock:
            old = self._objects.get(key)
            version = self.version + 1
            if old is not None:
                metadata = {**obj["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
                if {**obj, "metadata": metadata} == old:
                    return old
            stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
            self._objects[key] = stored
            self._record(Change(key, old, stored, version))
            return stored

    def remove(self, key: Key) -> None:
        """Remove an object that is there."""
        with self.lock:
            self._record(Change(key, self._objects.pop(key), None, self.version + 1))

    def changes_after(self, version: int) -> list[Change]:
        """Return what changed after a resource version."""
        with self.lock:
            return self._history[max(0, version - 1) :]

    def wait(self, version: int, timeout: float) -> None:
        """Wait until something changed after `version`, the store is closed, or `timeout` seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or self.version > version, timeout)

    def close(self) -> None:
        """Wake everyone who waits; `closed` tells them to leave."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def _record(self, change: Change) -> None:
        self._history.append(change)
        self._changed.notify_all()
