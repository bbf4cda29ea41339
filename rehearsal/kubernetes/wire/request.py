"""What a request asks for: its path, query and body, read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from rehearsal.kubernetes.api.errors import bad_request, no_such_resource
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.api.resources import Resource, Resources
from rehearsal.kubernetes.wire import protobuf


@dataclass(frozen=True, kw_only=True)
class Target:
    """The object, or the list of objects when `name` is empty, that a path names."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request, with its body as sent."""

    method: str
    parts: list[str]
    query: Mapping[str, str]
    content_type: str
    body: bytes

    @property
    def watches(self) -> bool:
        """Whether it asks for changes as they come."""
        return self.method == "GET" and self.query.get("watch") in ("true", "1")

    @property
    def dry_run(self) -> bool:
        """Whether nothing shall be stored."""
        return self.query.get("dryRun") == "All"

    def content(self) -> Any:
        """Return the body as an object, a patch or options; empty when there is none."""
        if "protobuf" in self.content_type:
            return protobuf.decode(self.body)
        if not self.body:
            return {}
        try:
            return json.loads(self.body)
        except ValueError as error:
            # kubectl and helm call JSON YAML, and KubeRay's CRDs take seconds as such.
            if "yaml" in self.content_type:
                return self._yaml()
            raise bad_request(f"the object provided cannot be read: {error}") from None

    def _yaml(self) -> Any:
        try:
            return yaml.load(self.body, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise bad_request(f"the object provided cannot be read: {error}") from None

    def obj(self) -> Object:
        """Return the body as an object."""
        content = self.content()
        if not isinstance(content, dict):
            raise bad_request("the object provided is unrecognized (must be of type object)")
        return content

    def target(self, resources: Resources) -> Target:
        """Return what the path names; 404 when the server has no such thing."""
        match self.parts:
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                raise no_such_resource()
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        if not 1 <= len(rest) <= 3:
            raise no_such_resource()
        plural, name, subresource = (*rest, "", "")[:3]
        resource = resources.find(group, version, plural)
        if subresource not in ("", "finalize") and not (subresource == "status" and resource.status):
            raise no_such_resource()
        return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def read(method: str, path: str, content_type: str, body: bytes) -> Request:
    """Return a request as it came over the wire."""
    url = urlsplit(path)
    return Request(
        method=method,
        parts=[part for part in url.path.split("/") if part],
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        content_type=content_type,
        body=body,
    )
