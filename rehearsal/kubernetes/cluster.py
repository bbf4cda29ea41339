"""The cluster behind the API: its objects, and the controllers at work on them."""

from functools import cache
from pathlib import Path

import yaml

from rehearsal.kubernetes.api.objects import Object, condition, name_of, namespace_of
from rehearsal.kubernetes.api.resources import Resources
from rehearsal.kubernetes.api.store import Store
from rehearsal.kubernetes.api.validation import Schemas
from rehearsal.kubernetes.api.verbs import Api
from rehearsal.kubernetes.controllers.base import Objects, Worker
from rehearsal.kubernetes.controllers.housekeeping import GarbageCollector, NamespaceController
from rehearsal.kubernetes.controllers.jobs import JobController
from rehearsal.kubernetes.controllers.kubelet import DevicePlugins, Kubelet
from rehearsal.kubernetes.controllers.ray_clusters import RayClusterController
from rehearsal.kubernetes.controllers.ray_jobs import RayJobController
from rehearsal.kubernetes.controllers.scheduler import Scheduler
from rehearsal.kubernetes.controllers.workloads import DaemonSetController, DeploymentController, ReplicaSetController

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Cluster:
    """The namespaces that every cluster has, no node, and the controllers of this package."""

    def __init__(self, crds: Path | None = None) -> None:
        self.api = Api(Store(), Resources(), Schemas())
        self._objects = Objects(self.api)
        for name in NAMESPACES:
            self.api.create(self.api.resources.find("", "v1", "namespaces"), "", {"metadata": {"name": name}})
        definitions = self.api.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        for crd in _read(crds) if crds else []:
            self.api.create(definitions, "", crd)
        self._worker = Worker(
            self.api,
            [
                NamespaceController(self.api),
                GarbageCollector(self.api),
                DeploymentController(self._objects),
                ReplicaSetController(self._objects),
                DaemonSetController(self._objects),
                JobController(self._objects),
                RayClusterController(self._objects),
                RayJobController(self._objects),
                Scheduler(self._objects),
                Kubelet(self._objects),
                DevicePlugins(self._objects),
            ],
        )

    def start(self) -> None:
        """Start the controllers."""
        self._worker.start()

    def stop(self) -> None:
        """Stop them, and wake whoever waits for a change."""
        self.api.store.close()
        self._worker.join()

    def pending(self) -> list[Object]:
        """Return the pods that are Pending, each with its reason, and the owners whose pods were refused."""
        found = []
        for pod in self._objects.of("Pod"):
            if pod["status"]["phase"] == "Pending":
                reason, message = _reason(pod)
                entry = {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod)}
                found.append({**entry, "reason": reason, "message": message})
        return found + self._objects.refused()


@cache
def _read(folder: Path) -> list[Object]:
    # KubeRay's two files are 2 MB: a safe loader, in C, and once per process.
    texts = [path.read_text() for path in sorted(folder.glob("*.yaml"))]
    return [crd for text in texts for crd in yaml.load_all(text, Loader=yaml.CSafeLoader) if crd]


def _reason(pod: Object) -> tuple[str, str]:
    scheduled = condition(pod, "PodScheduled") or {}
    for container in pod["status"].get("containerStatuses") or []:
        if waiting := container["state"].get("waiting"):
            return waiting["reason"], waiting["message"]
    return scheduled.get("reason", ""), scheduled.get("message", "")
