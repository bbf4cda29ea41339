"""What controllers share: a view of the objects by kind, and the one thread that they all run on."""

import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rehearsal.kubernetes.api.errors import ApiError
from rehearsal.kubernetes.api.objects import Object, name_of, namespace_of, owned_by, owner_reference
from rehearsal.kubernetes.api.verbs import Api

# After an error that should not be, so that it does not repeat without pause.
_RETRY_SECONDS = 1.0


class Controller(Protocol):
    """Makes the cluster more like what the objects say, one step at a time."""

    def reconcile(self) -> float | None:
        """Look at everything, do what is missing; return in how many seconds to look again without a change."""


class Objects:
    """The API by kind, as controllers speak to it."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._refusals: dict[str, Object] = {}

    def of(self, kind: str, namespace: str = "") -> list[Object]:
        """Return the objects of a kind; none while nobody has defined it."""
        resource = self._api.resources.of_kind(kind)
        return self._api.store.of(resource.group, resource.plural, namespace) if resource else []

    def find(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, None when it is not there."""
        return next((obj for obj in self.of(kind, namespace) if name_of(obj) == name), None)

    def owned(self, kind: str, owner: Object) -> list[Object]:
        """Return the objects of a kind that belong to `owner` and are not on their way out."""
        found = self.of(kind, namespace_of(owner))
        return [obj for obj in found if owned_by(obj, owner) and not obj["metadata"].get("deletionTimestamp")]

    def create(self, kind: str, owner: Object, obj: Object) -> Object | None:
        """Make an object that belongs to `owner`; None, noted for `refused`, when the API refuses it."""
        resource = self._api.resources.of_kind(kind)
        assert resource is not None
        metadata = {**obj["metadata"], "ownerReferences": [owner_reference(owner)]}
        uid = owner["metadata"]["uid"]
        try:
            made = self._api.create(resource, namespace_of(owner), {**obj, "metadata": metadata})
        except ApiError as error:
            self._refusals[uid] = {
                "kind": owner["kind"],
                "namespace": namespace_of(owner),
                "name": name_of(owner),
                "reason": "FailedCreate",
                "message": error.message,
            }
            return None
        self._refusals.pop(uid, None)
        return made

    def refused(self) -> list[Object]:
        """Return the owners for which something could not be made, and why."""
        with self._api.store.lock:
            entries = list(self._refusals.values())
            return [entry for entry in entries if self.find(entry["kind"], entry["namespace"], entry["name"])]

    def set_status(self, obj: Object, status: Mapping[str, Any]) -> None:
        """Change fields of an object's status."""
        resource = self._api.resources.of_kind(obj["kind"])
        assert resource is not None
        with self._api.store.lock:
            current = self._api.get(resource, namespace_of(obj), name_of(obj))
            merged = {**current, "status": {**(current.get("status") or {}), **status}}
            self._api.update(resource, namespace_of(obj), name_of(obj), merged, subresource="status")

    def set_metadata(self, obj: Object, metadata: Mapping[str, Any]) -> None:
        """Change fields of an object's metadata."""
        resource = self._api.resources.of_kind(obj["kind"])
        assert resource is not None
        changed = {**obj, "metadata": {**obj["metadata"], **metadata}}
        self._api.update(resource, namespace_of(obj), name_of(obj), changed)

    def replace(self, obj: Object, *, subresource: str = "") -> None:
        """Store a changed object."""
        resource = self._api.resources.of_kind(obj["kind"])
        assert resource is not None
        self._api.update(resource, namespace_of(obj), name_of(obj), obj, subresource=subresource)

    def delete(self, obj: Object) -> None:
        """Delete an object."""
        resource = self._api.resources.of_kind(obj["kind"])
        assert resource is not None
        self._api.delete(resource, namespace_of(obj), name_of(obj))

    def bind(self, pod: Object, node: str) -> Object:
        """Place a pod."""
        return self._api.bind(pod, node)


class Worker:
    """Runs controllers on one thread, again and again until nothing changes, then when something has changed."""

    def __init__(self, api: Api, controllers: Sequence[Controller]) -> None:
        self._store = api.store
        self._controllers = controllers
        self._thread = threading.Thread(target=self._run, name="kubernetes-controllers")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread, which ends when the store is closed."""
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._store.closed:
            seen = self._store.version
            waits = [self._step(controller) for controller in self._controllers]
            self._store.wait(seen, min((wait for wait in waits if wait is not None), default=3600.0))

    def _step(self, controller: Controller) -> float | None:
        try:
            # What a controller read stays true until it has written.
            with self._store.lock:
                return controller.reconcile()
        except Exception:
            print(f"{type(controller).__name__} failed; it is tried again:", file=sys.stderr)
            traceback.print_exc()
            return _RETRY_SECONDS
