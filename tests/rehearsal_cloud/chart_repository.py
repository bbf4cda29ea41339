"""A repository of Helm charts on loopback."""

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: from-the-repository}
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def chart_repository(helm: Path, folder: Path) -> Iterator[str]:
    """Serve a repository with one chart, kuberay-operator 9.9.9, which has a CRD; made by helm itself."""
    source, packed = folder / "kuberay-operator", folder / "repository"
    files = {
        "Chart.yaml": "apiVersion: v2\nname: kuberay-operator\nversion: 9.9.9\n",
        "crds/widgets.yaml": CRD,
        "templates/config.yaml": CONFIG_MAP,
    }
    packed.mkdir()
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    with served(functools.partial(Quiet, directory=str(packed))) as url:
        for arguments in (["package", str(source), "-d", str(packed)], ["repo", "index", str(packed), "--url", url]):
            subprocess.run([helm, *arguments], check=True, capture_output=True, env={"HOME": str(folder)}, timeout=60)
        yield url
