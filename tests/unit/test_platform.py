"""Helm charts: where they land, and what they would do by default."""

import json
from typing import Any

import pytest

from eks_ray_train.ecr_registries import REGIONS, eks_registry
from tests.synthesis import resources, settings_with, synthesise, templates


def _charts(template: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    found = resources(template or templates("dev")["Platform"], "Custom::AWSCDK-EKS-HelmChart").values()
    return {
        chart["Properties"]["Chart"]: {**chart["Properties"], "Values": json.loads(chart["Properties"]["Values"])}
        for chart in found
    }


def test_versions_are_the_settings() -> None:
    assert {name: chart["Version"] for name, chart in _charts().items()} == {
        "nvidia-device-plugin": "0.20.0",
        "aws-efa-k8s-device-plugin": "v0.5.32",
        "kuberay-operator": "1.7.0",
    }


@pytest.mark.failure_mode("E2")
@pytest.mark.parametrize("chart", ["nvidia-device-plugin", "aws-efa-k8s-device-plugin"])
def test_plugins_tolerate_the_taint(chart: str) -> None:
    tolerations = _charts()[chart]["Values"]["tolerations"]
    assert tolerations == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.failure_mode("E1")
def test_the_efa_plugins_list_holds_our_type() -> None:
    values = _charts()["aws-efa-k8s-device-plugin"]["Values"]
    assert values["supportedInstanceLabels"] == {"values": ["g6.12xlarge"]}


@pytest.mark.failure_mode("E3")
@pytest.mark.parametrize("chart", ["nvidia-device-plugin", "aws-efa-k8s-device-plugin"])
def test_the_plugins_run_on_gpu_nodes_only(chart: str) -> None:
    assert _charts()[chart]["Values"]["nodeSelector"] == {"role": "gpu-worker"}


@pytest.mark.failure_mode("E4")
def test_the_efa_plugins_image_is_the_regions() -> None:
    image = _charts()["aws-efa-k8s-device-plugin"]["Values"]["image"]
    assert image == {"repository": "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"}
    zones = [f"eu-south-2{letter}" for letter in "abc"]
    stacks = synthesise(settings_with({"region": "eu-south-2", "network.availability_zones": zones}))
    image = _charts(stacks["Platform"])["aws-efa-k8s-device-plugin"]["Values"]["image"]
    assert image["repository"].startswith("455263428931.dkr.ecr.eu-south-2.amazonaws.com/")


def test_every_region_has_a_registry() -> None:
    assert len(REGIONS) == 34
    assert {len(eks_registry(region).split(".")[0]) for region in REGIONS} == {12}


@pytest.mark.failure_mode("D7")
@pytest.mark.failure_mode("D8")
def test_helm_gives_up_before_its_lambda_and_cloudformation_soon_after() -> None:
    for chart in _charts().values():
        assert chart["Wait"] is True
        assert chart["Timeout"] == "600s"
        assert chart["ServiceTimeout"] == "960"


@pytest.mark.failure_mode("D8")
def test_nothing_that_asks_the_cluster_waits_for_an_hour() -> None:
    asked = [
        resource
        for template in templates("dev").values()
        for resource in template["Resources"].values()
        if resource["Type"].startswith("Custom::AWSCDK-EKS-")
    ]
    assert {resource["Type"].rpartition("-")[2] for resource in asked} == {
        "HelmChart",
        "KubernetesObjectValue",
        "KubernetesResource",
    }
    assert {resource["Properties"]["ServiceTimeout"] for resource in asked} == {"960"}


def test_the_operator_is_on_the_system_nodes() -> None:
    values = _charts()["kuberay-operator"]["Values"]
    assert values["nodeSelector"] == {"role": "system"}
    assert "tolerations" not in values


@pytest.mark.failure_mode("F13")
def test_the_operator_does_not_inject_its_small_init_container() -> None:
    env = _charts()["kuberay-operator"]["Values"]["env"]
    assert env == [{"name": "ENABLE_INIT_CONTAINER_INJECTION", "value": "false"}]


@pytest.mark.failure_mode("D1")
@pytest.mark.failure_mode("D3")
def test_the_crds_come_with_the_chart_and_not_through_a_manifest() -> None:
    for template in templates("dev").values():
        assert "CustomResourceDefinition" not in json.dumps(template)
    assert not any("SkipCrds" in chart for chart in _charts().values())
