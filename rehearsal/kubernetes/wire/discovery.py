"""The documents by which clients learn what the server has, and that it checks fields."""

from typing import Any

from rehearsal.kubernetes.api.errors import no_such_resource
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.resources import Resource, Resources

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0-rehearsal", "platform": "linux/amd64"}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def document(resources: Resources, parts: list[str]) -> Object | bytes | None:
    """Return the document at a path, None when the path is not one of discovery."""
    match parts:
        case ["version"]:
            return dict(VERSION)
        case ["healthz"] | ["readyz"] | ["livez"]:
            return {"status": "ok"}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(resources)}
        case ["apis", name]:
            return _only(
                [{"kind": "APIGroup", "apiVersion": "v1", **g} for g in _groups(resources) if g["name"] == name]
            )
        case ["api", _] | ["apis", _, _]:
            return _resource_list(resources, "/".join(parts))
        case ["openapi", "v2"]:
            # An empty document of protobuf: kubectl asks for it before it takes a List apart, and for unknown kinds.
            return b""
        case ["openapi", "v3"]:
            paths = sorted({resource.path for resource in resources})
            return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}
        case ["openapi", "v3", *rest]:
            return _openapi(resources, "/".join(rest))
    return None


def _groups(resources: Resources) -> list[Object]:
    versions: dict[str, list[str]] = {}
    for resource in resources:
        if resource.group and resource.version not in versions.setdefault(resource.group, []):
            versions[resource.group].append(resource.version)
    entries = {
        group: [{"groupVersion": f"{group}/{version}", "version": version} for version in listed]
        for group, listed in versions.items()
    }
    return [{"name": group, "versions": listed, "preferredVersion": listed[0]} for group, listed in entries.items()]


def _resource_list(resources: Resources, path: str) -> Object:
    served = [resource for resource in resources if resource.path == path]
    if not served:
        raise no_such_resource()
    entries: list[Object] = []
    for resource in served:
        common = {"namespaced": resource.namespaced, "kind": resource.kind}
        names = {"name": resource.plural, "singularName": resource.kind.lower(), "shortNames": resource.short_names}
        entries.append({**names, **common, "categories": resource.categories, "verbs": _VERBS})
        if resource.status:
            status = {"name": f"{resource.plural}/status", "singularName": "", "verbs": ["get", "patch", "update"]}
            entries.append({**status, **common})
    version = served[0].api_version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": entries}


def _openapi(resources: Resources, path: str) -> Object:
    """Say of each kind that a patch of it takes `fieldValidation`: then kubectl lets the server check fields."""
    paths = {_item_path(resource): {"patch": _patch(resource)} for resource in resources if resource.path == path}
    if not paths:
        raise no_such_resource()
    info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _item_path(resource: Resource) -> str:
    return f"/{resource.path}/{'namespaces/{namespace}/' if resource.namespaced else ''}{resource.plural}/{{name}}"


def _patch(resource: Resource) -> dict[str, Any]:
    return {
        "operationId": f"patch{resource.kind}",
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string"}} for name in ("dryRun", "fieldValidation")
        ],
        "responses": {},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }


def _only(found: list[Object]) -> Object:
    if not found:
        raise no_such_resource()
    return found[0]
