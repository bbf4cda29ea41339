"""The Ray namespace: who may do and reach what."""

from typing import Any

import pytest

from eks_ray_train.ray_workload import NAMESPACE, SERVICE_ACCOUNT
from tests.objects import head_pod, spec_of, the_one, worker_pod
from tests.synthesis import kubernetes_objects, only, templates


@pytest.mark.failure_mode("C14")
def test_workers_are_not_drained_for_an_update_of_their_nodes() -> None:
    spec = spec_of("PodDisruptionBudget")
    assert spec == {"maxUnavailable": 0, "selector": {"matchLabels": {"ray.io/node-type": "worker"}}}


def test_the_namespaces_one_exception() -> None:
    labels = {obj["metadata"]["name"]: obj["metadata"]["labels"] for obj in kubernetes_objects("dev", "Namespace")}
    assert labels[NAMESPACE] == {
        "pod-security.kubernetes.io/enforce": "privileged",
        "pod-security.kubernetes.io/warn": "baseline",
        "pod-security.kubernetes.io/audit": "baseline",
    }
    assert labels["image-prefetch"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    assert labels["image-prefetch-head"] == {"pod-security.kubernetes.io/enforce": "restricted"}


def _policies() -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj["spec"] for obj in kubernetes_objects("dev", "NetworkPolicy")}


def test_everything_is_denied_first() -> None:
    assert _policies()["deny-all"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_what_is_allowed() -> None:
    policies = _policies()
    assert sorted(policies) == ["deny-all", "dns", "https-out", "operator-to-dashboard", "pod-identity", "ray-to-ray"]
    assert policies["ray-to-ray"]["ingress"] == [{"from": [{"podSelector": {}}]}]
    (dashboard,) = policies["operator-to-dashboard"]["ingress"]
    assert dashboard["ports"] == [{"protocol": "TCP", "port": 8265}]
    (operator,) = dashboard["from"]  # both selectors in one entry: the operator's pods of its namespace
    assert operator["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kuberay-system"}
    assert operator["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "kuberay-operator"}
    assert policies["pod-identity"]["egress"] == [
        {"to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}], "ports": [{"protocol": "TCP", "port": 80}]}
    ]
    assert policies["dns"]["egress"][0]["ports"] == [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]


def test_nothing_reaches_the_nodes_metadata() -> None:
    (https,) = _policies()["https-out"]["egress"]
    assert https["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}]
    assert https["ports"] == [{"protocol": "TCP", "port": 443}]


def test_pods_use_pod_identity() -> None:
    association = only(templates("dev")["Training"], "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == (NAMESPACE, SERVICE_ACCOUNT)
    assert [head_pod()["serviceAccountName"], worker_pod()["serviceAccountName"]] == [SERVICE_ACCOUNT] * 2
    assert the_one("ServiceAccount")["metadata"]["name"] == SERVICE_ACCOUNT
