"""A stand-in for the RayCluster half of the KubeRay operator."""

import base64
import secrets

from rehearsal.kubernetes.api.objects import Object, holds, name_of, namespace_of, timestamp, with_condition
from rehearsal.kubernetes.controllers.base import Objects
from rehearsal.kubernetes.controllers.kuberay_rules import ray_cluster_fault
from rehearsal.kubernetes.controllers.placement import finished

OPERATOR = "kuberay-operator"
CLUSTER, GROUP, NODE_TYPE = "ray.io/cluster", "ray.io/group", "ray.io/node-type"
_HEAD_PORTS = {"gcs-server": 6379, "dashboard": 8265, "client": 10001}


def operator_runs(objects: Objects) -> bool:
    """Whether the operator's Deployment has a ready pod: without it nothing of Ray moves."""
    deployments = [entry for entry in objects.of("Deployment") if name_of(entry) == OPERATOR]
    return any((entry.get("status") or {}).get("readyReplicas") for entry in deployments)


class RayClusterController:
    """Token Secret, head Service, head pod, worker pods; `status.state` is ready once all of them have run together."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Bring every RayCluster a step further, while the operator runs."""
        if operator_runs(self._objects):
            for cluster in self._objects.of("RayCluster"):
                if not cluster["metadata"].get("deletionTimestamp"):
                    self._advance(cluster)
        return None

    def _advance(self, cluster: Object) -> None:
        if fault := ray_cluster_fault(cluster):
            self._objects.set_status(cluster, {"reason": fault})
            return
        spec, name, namespace = cluster["spec"], name_of(cluster), namespace_of(cluster)
        by_token = (spec.get("authOptions") or {}).get("mode") == "token"
        if by_token and self._objects.find("Secret", namespace, name) is None:
            token = base64.b64encode(secrets.token_urlsafe(24).encode()).decode()
            secret = {"metadata": {"name": name, "labels": {CLUSTER: name}}, "data": {"auth_token": token}}
            self._objects.create("Secret", cluster, secret)
        if self._objects.find("Service", namespace, head_service(cluster)) is None:
            self._objects.create("Service", cluster, _service(cluster))
        heads = self._pods(cluster, "head", "headgroup", spec["headGroupSpec"]["template"], 1)
        workers: list[Object] = []
        desired = 0
        for group in spec.get("workerGroupSpecs") or []:
            replicas = 0 if group.get("suspend") else group.get("replicas", group.get("minReplicas", 0))
            count = replicas * group.get("numOfHosts", 1)
            desired += count
            workers += self._pods(cluster, "worker", group["groupName"], group["template"], count)
        self._report(cluster, heads, workers, desired)

    def _pods(self, cluster: Object, node_type: str, group: str, template: Object, count: int) -> list[Object]:
        name = name_of(cluster)
        labels = {
            CLUSTER: name,
            GROUP: group,
            NODE_TYPE: node_type,
            "ray.io/identifier": f"{name}-{node_type}",
            "ray.io/is-ray-node": "yes",
            "app.kubernetes.io/created-by": OPERATOR,
            "app.kubernetes.io/name": "kuberay",
        }
        pods = []
        for pod in self._objects.owned("Pod", cluster):
            if pod["metadata"]["labels"].get(GROUP) == group:
                if finished(pod):
                    self._objects.delete(pod)
                else:
                    pods.append(pod)
        for pod in pods[count:]:
            self._objects.delete(pod)
        prefix = f"{name}-head-" if node_type == "head" else f"{name}-{group}-worker-"
        metadata = template.get("metadata") or {}
        for _ in range(count - len(pods)):
            made = {
                "metadata": {
                    "generateName": prefix,
                    "labels": {**(metadata.get("labels") or {}), **labels},
                    "annotations": metadata.get("annotations"),
                },
                "spec": template["spec"],
            }
            if self._objects.create("Pod", cluster, made) is None:
                break
        return pods[:count]

    def _report(self, cluster: Object, heads: list[Object], workers: list[Object], desired: int) -> None:
        ready = [pod for pod in workers if holds(pod, "Ready")]
        head = next((pod for pod in heads if holds(pod, "Ready")), None)
        before = cluster.get("status") or {}
        status: Object = {
            "desiredWorkerReplicas": desired,
            "availableWorkerReplicas": len(ready),
            "readyWorkerReplicas": len(ready),
            "observedGeneration": cluster["metadata"]["generation"],
        }
        conditions = with_condition(
            cluster, "HeadPodReady", str(bool(head)), "HeadPodRunningAndReady" if head else "HeadPodNotFound"
        )
        if head:
            service = head_service(cluster)
            status["head"] = {"podName": name_of(head), "podIP": head["status"]["podIP"], "serviceName": service}
            status["endpoints"] = {port: str(number) for port, number in _HEAD_PORTS.items()}
        # The operator never takes the state back when pods are lost later.
        if head and len(ready) >= desired and before.get("state") != "ready":
            status["state"] = "ready"
            status["lastUpdateTime"] = timestamp()
            status["stateTransitionTimes"] = {"ready": timestamp()}
            provisioned = {**cluster, "status": {"conditions": conditions}}
            conditions = with_condition(provisioned, "RayClusterProvisioned", "True", "AllPodRunningAndReadyFirstTime")
        self._objects.set_status(cluster, {**status, "conditions": conditions})


def head_service(cluster: Object) -> str:
    """Return the name of the Service of a cluster's head."""
    return f"{name_of(cluster)}-head-svc"


def _service(cluster: Object) -> Object:
    labels = {CLUSTER: name_of(cluster), NODE_TYPE: "head"}
    ports = [{"name": name, "port": port, "targetPort": port} for name, port in _HEAD_PORTS.items()]
    kind = cluster["spec"]["headGroupSpec"].get("serviceType") or "ClusterIP"
    return {
        "metadata": {"name": head_service(cluster), "labels": labels},
        "spec": {"type": kind, "selector": labels, "ports": ports},
    }
