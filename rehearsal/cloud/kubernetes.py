"""The cluster's Kubernetes API, as far as EKS itself calls it."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from rehearsal.cloud.errors import RefusedError

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Kubernetes:
    """An API server at a URL, plain HTTP on loopback."""

    url: str

    def create_node(self, node: dict[str, Any]) -> None:
        """Register a node."""
        self._call("POST", "/api/v1/nodes", node)

    def delete_node(self, name: str) -> None:
        """Remove a node; one that is gone already is no error."""
        self._call("DELETE", f"/api/v1/nodes/{name}", None, missing_is_fine=True)

    def _call(self, method: str, path: str, body: Any, *, missing_is_fine: bool = False) -> None:
        request = urllib.request.Request(  # noqa: S310 - loopback, from the command line
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with _DIRECT.open(request, timeout=30) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404 and missing_is_fine:
                return
            raise RefusedError(
                f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:500]}"
            ) from error
        except OSError as error:
            raise RefusedError(f"{method} {path}: the Kubernetes API does not answer: {error}") from error
