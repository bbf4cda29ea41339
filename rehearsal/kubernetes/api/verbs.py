"""The verbs on objects. HTTP requests and controllers come through here alike, and meet the same rules."""

import uuid
from collections.abc import Mapping
from typing import Any

from rehearsal.kubernetes.api import defaults, errors, patches, rules
from rehearsal.kubernetes.api.admission import admitted_pod, check_namespace
from rehearsal.kubernetes.api.objects import Object, name_of, namespace_of, timestamp, without_nulls
from rehearsal.kubernetes.api.resources import Resource, Resources
from rehearsal.kubernetes.api.store import Key, Store
from rehearsal.kubernetes.api.validation import Schemas
from rehearsal.kubernetes.api.writes import APPLY_PATCH, Patch, counted, identified, next_version, patched


class Api:
    """Create, read, update, patch and delete, with Kubernetes' rules."""

    def __init__(self, store: Store, resources: Resources, schemas: Schemas) -> None:
        self.store = store
        self.resources = resources
        self.schemas = schemas
        self._applied: dict[tuple[str, str], Object] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object; 404 when it is not there."""
        found = self.store.get(self._key(resource, namespace, name))
        if found is None:
            raise errors.not_found(resource.plural, resource.group, name)
        return found

    def create(self, resource: Resource, namespace: str, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object."""
        with self.store.lock:
            obj = identified(resource, namespace, without_nulls(obj))
            name = name_of(obj)
            if resource.namespaced:
                check_namespace(self.store, resource, namespace, name)
            if resource.kind != "Node" and resource.status:
                obj.pop("status", None)
            born = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp()} | (
                {"generation": 1} if "spec" in obj else {}
            )
            obj["metadata"] = {**obj["metadata"], **born}
            self.schemas.check(resource, obj)
            obj = self.schemas.defaulted(resource, obj if resource.crd else defaults.with_defaults(obj))
            self._refuse(resource, name, list(rules.faults(obj)))
            if resource.kind == "Pod":
                obj = admitted_pod(self.store, namespace, obj)
            key = self._key(resource, namespace, name)
            if self.store.get(key) is not None:
                raise errors.already_exists(resource.plural, resource.group, name)
            if dry_run:
                return obj
            return self._created(key, obj)

    def update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        obj: Object,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Replace an object, or only its status; 409 when it is based on an older version than the stored one."""
        with self.store.lock:
            old = self.get(resource, namespace, name)
            new = next_version(resource, old, without_nulls(obj), subresource)
            self.schemas.check(resource, new)
            if not subresource:
                new = self.schemas.defaulted(resource, new if resource.crd else defaults.with_defaults(new))
                # Only now: without its defaults an unchanged object would look changed.
                new = counted(old, new)
                self._refuse(resource, name, [*rules.change_faults(old, new), *rules.faults(new)])
            if dry_run:
                return new
            return self._settle(self._key(resource, namespace, name), new)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Patch,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Change an object; server-side apply makes it when it is not there."""
        with self.store.lock:
            old = self.store.get(self._key(resource, namespace, name))
            if patch.type != APPLY_PATCH:
                if old is None:
                    raise errors.not_found(resource.plural, resource.group, name)
                new = patched(resource, self.schemas.of(resource), old, patch)
                return self.update(resource, namespace, name, new, subresource=subresource, dry_run=dry_run)
            body = without_nulls(patch.body)
            if old is None:
                named = {**body, "metadata": {**(body.get("metadata") or {}), "name": name}}
                made = self.create(resource, namespace, named, dry_run=dry_run)
            else:
                before = self._applied.get((old["metadata"]["uid"], patch.manager), {})
                new = patches.applied(old, before, body, self.schemas.of(resource))
                made = self.update(resource, namespace, name, new, subresource=subresource, dry_run=dry_run)
            if not dry_run:
                self._applied[made["metadata"]["uid"], patch.manager] = body
            return made

    def delete(self, resource: Resource, namespace: str, name: str, options: Mapping[str, Any] | None = None) -> Object:
        """Remove an object, or mark it as to be removed while finalizers hold it. What it owns goes after it."""
        with self.store.lock:
            old = self.get(resource, namespace, name)
            options = options or {}
            wanted = (options.get("preconditions") or {}).get("uid", old["metadata"]["uid"])
            if wanted != old["metadata"]["uid"]:
                why = (
                    f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {old['metadata']['uid']}"
                )
                raise errors.conflict(resource.plural, resource.group, name, why)
            if options.get("propagationPolicy") == "Orphan" or options.get("orphanDependents"):
                self._orphan(old)
            metadata = {"deletionTimestamp": timestamp(), "deletionGracePeriodSeconds": 0, **old["metadata"]}
            new = {**old, "metadata": metadata}
            if resource.kind == "Namespace":
                new["status"] = {"phase": "Terminating"}
            return self._settle(self._key(resource, namespace, name), new)

    def bind(self, pod: Object, node: str) -> Object:
        """Place a pod: the one change of a pod's spec that only the scheduler makes."""
        with self.store.lock:
            spec = {**pod["spec"], "nodeName": node}
            return self.store.put(Key("", "pods", namespace_of(pod), name_of(pod)), {**pod, "spec": spec})

    def _created(self, key: Key, obj: Object) -> Object:
        match obj["kind"]:
            case "Namespace":
                stored = self.store.put(key, obj)
                account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
                self.create(self.resources.find("", "v1", "serviceaccounts"), key.name, account)
                return stored
            case "CustomResourceDefinition":
                self.define(obj)
                types = ("NamesAccepted", "Established")
                conditions = [
                    {"type": kind, "status": "True", "reason": "Accepted", "lastTransitionTime": timestamp()}
                    for kind in types
                ]
                versions = [version["name"] for version in obj["spec"]["versions"] if version["storage"]]
                status = {"conditions": conditions, "acceptedNames": obj["spec"]["names"], "storedVersions": versions}
                return self.store.put(key, {**obj, "status": status})
        return self.store.put(key, obj)

    def define(self, crd: Object) -> None:
        """Serve the kind of a CustomResourceDefinition."""
        self.schemas.define(crd)
        self.resources.define(crd)

    def _settle(self, key: Key, new: Object) -> Object:
        """Store an object, or remove it if it is to be removed and nothing holds it any more."""
        held = new["metadata"].get("finalizers") or (new["kind"] == "Namespace" and new["spec"].get("finalizers"))
        if not new["metadata"].get("deletionTimestamp") or held:
            stored = self.store.put(key, new)
            if new["kind"] == "CustomResourceDefinition":
                self.define(stored)
            return stored
        self.store.remove(key)
        if new["kind"] == "CustomResourceDefinition":
            spec = new["spec"]
            for obj in self.store.of(spec["group"], spec["names"]["plural"]):
                self.store.remove(Key(spec["group"], spec["names"]["plural"], namespace_of(obj), name_of(obj)))
            self.resources.forget(key.name)
        return new

    def _orphan(self, owner: Object) -> None:
        for key, obj in self.store.items().items():
            references = obj["metadata"].get("ownerReferences") or []
            kept = [reference for reference in references if reference["uid"] != owner["metadata"]["uid"]]
            if kept != references:
                self.store.put(key, {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}})

    @staticmethod
    def _key(resource: Resource, namespace: str, name: str) -> Key:
        return Key(resource.group, resource.plural, namespace if resource.namespaced else "", name)

    @staticmethod
    def _refuse(resource: Resource, name: str, faults: list[errors.Fault]) -> None:
        if faults:
            raise errors.invalid(resource.kind, resource.group, name, faults)
