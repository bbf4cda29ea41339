"""Who may talk to whom in the Ray namespace. EFA traffic is not IP and is ruled by its security group instead."""

from collections.abc import Sequence
from typing import Any

import cdk8s
from constructs import Construct

from k8s.api_object import KubeObject

DASHBOARD_PORT = 8265
# The link-local address of the EKS Pod Identity Agent on every node.
POD_IDENTITY_AGENT = "169.254.170.23/32"


class NetworkPolicyChart(cdk8s.Chart):
    """Denies everything, then allows what a Ray job needs."""

    def __init__(self, scope: Construct, id: str, *, namespace: str, operator_namespace: str) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        self._namespace = namespace
        self._policy("deny-all", {}, ingress=[], egress=[])
        self._policy(
            "ray-to-ray",
            {},
            ingress=[{"from": [{"podSelector": {}}]}],
            egress=[{"to": [{"podSelector": {}}]}],
        )
        self._policy(
            "operator-to-dashboard",
            {"matchLabels": {"ray.io/node-type": "head"}},
            ingress=[
                {
                    "from": [
                        {
                            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": operator_namespace}},
                            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "kuberay-operator"}},
                        }
                    ],
                    "ports": [{"protocol": "TCP", "port": DASHBOARD_PORT}],
                }
            ],
        )
        self._policy(
            "dns",
            {},
            egress=[
                {
                    "to": [
                        {
                            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                        }
                    ],
                    "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
                }
            ],
        )
        self._policy(
            "https-out",
            {},
            egress=[
                {
                    "to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}],
                    "ports": [{"protocol": "TCP", "port": 443}],
                }
            ],
        )
        self._policy(
            "pod-identity",
            {},
            egress=[
                {
                    "to": [{"ipBlock": {"cidr": POD_IDENTITY_AGENT}}],
                    "ports": [{"protocol": "TCP", "port": 80}],
                }
            ],
        )

    def _policy(
        self,
        name: str,
        pods: dict[str, Any],
        *,
        ingress: Sequence[dict[str, Any]] | None = None,
        egress: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        rules = {"Ingress": ingress, "Egress": egress}
        spec: dict[str, Any] = {
            "podSelector": pods,
            "policyTypes": [kind for kind, rule in rules.items() if rule is not None],
        }
        # A type with no rule list denies all of it.
        spec.update({kind.lower(): list(rule) for kind, rule in rules.items() if rule})
        KubeObject(
            self,
            name,
            api_version="networking.k8s.io/v1",
            kind="NetworkPolicy",
            name=name,
            namespace=self._namespace,
            body={"spec": spec},
        )
