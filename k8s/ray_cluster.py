"""The standing RayCluster: a head without GPUs, and one worker pod per GPU node that takes all of it."""

from collections.abc import Mapping
from typing import Any

import cdk8s
from constructs import Construct

from k8s.api_object import KubeObject, content_hash
from k8s.network_policies import DASHBOARD_PORT
from k8s.pods import GPU_NODE, GPU_TOLERATION, NO_GPUS, SECURITY_CONTEXT, SYSTEM_NODE, WORKER_PRIORITY, Resources, env

GIB = 1024**3
# Training needs little of Ray's object store, whose default of 30% of memory would not fit /dev/shm beside NCCL's
# buffers.
OBJECT_STORE_BYTES = 4 * GIB
HEAD_OBJECT_STORE_BYTES = 1 * GIB
HOST_SYS = "/host/sys"
# The training proves its transport from NCCL's log: each process's own file, in a folder that exists (NCCL stays on
# stdout otherwise, without a word), with the lines that name the network of each channel.
NCCL_LOG = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV",
    "NCCL_DEBUG_FILE": "/tmp/nccl-%h-%p.log",  # noqa: S108 - the pod's own
}
# From torch's flight recorder the training counts the bytes that three steps need. Its own 2,000 entries hold those of
# about seven micro-batches a step.
FLIGHT_RECORDER = {"TORCH_FR_BUFFER_SIZE": "20000"}
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}


class RayClusterChart(cdk8s.Chart):
    """A RayCluster whose name carries the hash of its spec.

    KubeRay does not restart pods for an edited spec, so a changed spec is a new cluster; ``cluster_name`` is how a
    RayJob selects it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        namespace: str,
        service_account: str,
        image: str,
        ray_version: str,
        head: Resources,
        worker: Resources,
        workers: int,
        shared_memory_gib: int,
        environment: Mapping[str, str],
        transport: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        spec = {
            "rayVersion": ray_version,
            # Whoever reaches the dashboard's port runs code on the cluster: the operator makes a token and hands it to
            # the pods and to the submitter.
            "authOptions": {"mode": "token"},
            "headGroupSpec": _head_group(image, service_account, head, environment),
            "workerGroupSpecs": [
                _worker_group(image, service_account, worker, workers, shared_memory_gib, {**environment, **transport})
            ],
        }
        self.cluster_name = f"ray-{content_hash(spec)}"
        KubeObject(
            self,
            "RayCluster",
            api_version="ray.io/v1",
            kind="RayCluster",
            name=self.cluster_name,
            namespace=namespace,
            body={"spec": spec},
        )


def _head_group(image: str, service_account: str, resources: Resources, environment: Mapping[str, str]) -> Any:
    container = {
        "name": "ray-head",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": env({**NO_GPUS, **_QUIET, **environment}),
        "ports": [
            {"name": "gcs-server", "containerPort": 6379},
            {"name": "dashboard", "containerPort": DASHBOARD_PORT},
            {"name": "client", "containerPort": 10001},
        ],
        "resources": resources.to_json(),
        "securityContext": SECURITY_CONTEXT,
        "volumeMounts": [{"name": "ray-logs", "mountPath": "/tmp/ray"}],  # noqa: S108 - Ray's own folder in the pod
    }
    return {
        "serviceType": "ClusterIP",
        # No CPUs and no GPUs: no rank may land on a pod without EFA, and the driver has the memory to itself.
        "rayStartParams": {
            "num-cpus": "0",
            "num-gpus": "0",
            "dashboard-host": "0.0.0.0",  # noqa: S104 - inside the pod; the network policies say who may call
            "object-store-memory": str(HEAD_OBJECT_STORE_BYTES),
        },
        "template": {
            "spec": {
                "serviceAccountName": service_account,
                "automountServiceAccountToken": False,
                "nodeSelector": SYSTEM_NODE,
                "containers": [container],
                "volumes": [{"name": "ray-logs", "emptyDir": {}}],
            }
        },
    }


def _worker_group(
    image: str,
    service_account: str,
    resources: Resources,
    replicas: int,
    shared_memory_gib: int,
    environment: Mapping[str, str],
) -> Any:
    container = {
        "name": "ray-worker",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": env({**_QUIET, **NCCL_LOG, **FLIGHT_RECORDER, **environment}),
        "resources": resources.to_json(),
        "securityContext": SECURITY_CONTEXT,
        "volumeMounts": [
            {"name": "ray-logs", "mountPath": "/tmp/ray"},  # noqa: S108 - Ray's own folder in the pod
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - NCCL's transport inside the node
            {"name": "host-sys", "mountPath": HOST_SYS, "readOnly": True},
        ],
    }
    return {
        "groupName": "gpu-workers",
        "replicas": replicas,
        "minReplicas": replicas,
        "maxReplicas": replicas,
        "rayStartParams": {
            "num-gpus": str(resources.gpus),
            "object-store-memory": str(OBJECT_STORE_BYTES),
        },
        "template": {
            "spec": {
                "serviceAccountName": service_account,
                "automountServiceAccountToken": False,
                "priorityClassName": WORKER_PRIORITY,
                "nodeSelector": GPU_NODE,
                "tolerations": [GPU_TOLERATION],
                "initContainers": [_wait_for_head(image)],
                "containers": [container],
                "volumes": [
                    {"name": "ray-logs", "emptyDir": {}},
                    {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": f"{shared_memory_gib}Gi"}},
                    # The EFA port counters are in the host's /sys only; without them the bytes cannot be proven.
                    {"name": "host-sys", "hostPath": {"path": "/sys", "type": "Directory"}},
                ],
            }
        },
    }


def _wait_for_head(image: str) -> Any:
    # KubeRay's own init container of this purpose has 256 MiB, which `ray health-check` of a large image outgrows. The
    # operator is told not to inject it, and gives this one, by its name, the token and FQ_RAY_IP all the same.
    return {
        "name": "wait-gcs-ready",
        "image": image,
        "command": [
            "/bin/bash",
            "-c",
            'until ray health-check --address "$FQ_RAY_IP:6379"; do echo "waiting for the Ray head"; sleep 5; done',
        ],
        "env": env(NO_GPUS),
        "resources": Resources(cpu="1", memory="1Gi").to_json(),
        "securityContext": SECURITY_CONTEXT,
    }
