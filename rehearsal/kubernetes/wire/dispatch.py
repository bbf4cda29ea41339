"""A request for objects as a call of the API."""

from typing import Any

from rehearsal.kubernetes.api.errors import ApiError
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.verbs import Api
from rehearsal.kubernetes.api.writes import APPLY_PATCH, Patch
from rehearsal.kubernetes.wire import watch
from rehearsal.kubernetes.wire.request import Request, Target


def act(api: Api, request: Request, target: Target) -> tuple[int, Any]:
    """Do what a request asks for; return the code and the body of the answer."""
    resource, namespace, name = target.resource, target.namespace, target.name
    chosen = watch.selection(request, target)
    match request.method, bool(name):
        case "GET", False:
            return 200, watch.listed(api.store, chosen)
        case "GET", True:
            return 200, chosen.of(api.get(resource, namespace, name))
        case "POST", False:
            return 201, chosen.of(api.create(resource, namespace, request.obj(), dry_run=request.dry_run))
        case "PUT", True:
            changed = api.update(
                resource,
                namespace,
                name,
                request.obj(),
                subresource=target.subresource,
                dry_run=request.dry_run,
            )
            return 200, chosen.of(changed)
        case "PATCH", True:
            return _patch(api, request, target)
        case "DELETE", True:
            return 200, _deleted(target, api.delete(resource, namespace, name, request.content()))
        case "DELETE", False:
            for obj in watch.listed(api.store, chosen)["items"]:
                api.delete(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"], request.content())
            return 200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _patch(api: Api, request: Request, target: Target) -> tuple[int, Object]:
    content_type = request.content_type.partition(";")[0].strip()
    # A body in YAML may be JSON; the media type only says how it is applied.
    patch = Patch(type=content_type, body=request.content(), manager=request.query.get("fieldManager", ""))
    with api.store.lock:
        there = content_type != APPLY_PATCH or any(
            obj["metadata"]["name"] == target.name
            for obj in api.store.of(target.resource.group, target.resource.plural, target.namespace)
        )
        made = api.patch(
            target.resource,
            target.namespace,
            target.name,
            patch,
            subresource=target.subresource,
            dry_run=request.dry_run,
        )
    return (200 if there else 201), made


def _deleted(target: Target, obj: Object) -> Object:
    """Return the object while finalizers hold it, else a Status: so clients see whether to wait."""
    if obj["metadata"].get("finalizers") or obj["kind"] == "Namespace":
        return obj
    details = {"name": target.name, "kind": target.resource.plural, "uid": obj["metadata"]["uid"]}
    if target.resource.group:
        details["group"] = target.resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
