"""A Kubernetes object written as it reads in YAML, and names that follow from content."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import cdk8s
from constructs import Construct

Json = Mapping[str, Any]


class KubeObject(cdk8s.ApiObject):
    """One object of any kind, custom resources included.

    ``body`` holds the top-level fields beside apiVersion, kind and metadata, such as spec. cdk8s.ApiObject takes no
    such fields in Python, hence the patches.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        api_version: str,
        kind: str,
        name: str,
        body: Json,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            scope,
            id,
            api_version=api_version,
            kind=kind,
            metadata=cdk8s.ApiObjectMetadata(
                name=name, namespace=namespace, labels=dict(labels) if labels is not None else None
            ),
        )
        for field, value in body.items():
            self.add_json_patch(cdk8s.JsonPatch.add(f"/{field}", value))


def content_hash(*parts: Any) -> str:
    """Ten hexadecimal digits that change with any of ``parts`` (JSON values), for names that follow from content."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]
