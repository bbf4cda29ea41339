"""The namespace that everything of Ray lives in, with its service account and priorities."""

import cdk8s
import cdk8s_plus_30 as kplus
from constructs import Construct

from k8s.api_object import KubeObject
from k8s.pods import FABRIC_CHECK_PRIORITY, WORKER_PRIORITY


class NamespaceChart(cdk8s.Chart):
    """The namespace, the service account of the Ray pods, two priority classes, and the workers' disruption budget."""

    def __init__(self, scope: Construct, id: str, *, namespace: str, service_account: str) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        kplus.Namespace(
            self,
            "Namespace",
            metadata=cdk8s.ApiObjectMetadata(
                name=namespace,
                labels={
                    # The one exception: workers mount the host's /sys (read only), for a pod's own lacks the EFA port
                    # counters, and no level below privileged allows a hostPath. Anything else beyond baseline is
                    # reported by the API server's warnings and audit log.
                    "pod-security.kubernetes.io/enforce": "privileged",
                    "pod-security.kubernetes.io/warn": "baseline",
                    "pod-security.kubernetes.io/audit": "baseline",
                },
            ),
        )
        # Pod Identity mounts its own token; nothing here talks to the Kubernetes API.
        kplus.ServiceAccount(
            self,
            "ServiceAccount",
            metadata=cdk8s.ApiObjectMetadata(name=service_account, namespace=namespace),
            automount_token=False,
        )
        self._priority(WORKER_PRIORITY, 1000, "Never", "The pods that hold the GPUs between jobs.")
        # A changed node is checked again although the standing RayCluster holds its GPUs: the check takes them for a
        # minute, and KubeRay starts the worker anew.
        self._priority(
            FABRIC_CHECK_PRIORITY, 2000, "PreemptLowerPriority", "The check of GPUs and EFA before workers may run."
        )

        # With it EKS refuses to drain the workers for an update of their nodes, rather than end a run of hours.
        KubeObject(
            self,
            "WorkerBudget",
            api_version="policy/v1",
            kind="PodDisruptionBudget",
            name="ray-workers",
            namespace=namespace,
            body={
                "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"ray.io/node-type": "worker"}}},
            },
        )

    def _priority(self, name: str, value: int, preemption: str, description: str) -> None:
        KubeObject(
            self,
            name,
            api_version="scheduling.k8s.io/v1",
            kind="PriorityClass",
            name=name,
            body={"value": value, "preemptionPolicy": preemption, "description": description},
        )
