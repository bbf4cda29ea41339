"""Every object, and every pod in one, against the schemas of the Kubernetes version that the cluster runs."""

from typing import Any

import kubernetes_validate
import pytest

from environments.loading import load
from tests.synthesis import ENVIRONMENTS, manifests, templates


def _objects(environment: str) -> list[dict[str, Any]]:
    return [obj for template in templates(environment).values() for obj in manifests(template)]


@pytest.mark.failure_mode("D16")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_core_objects_are_valid_and_current(environment: str) -> None:
    """Also that cdk8s-plus-30 emits only what the default version still serves."""
    core = [obj for obj in _objects(environment) if not obj["apiVersion"].startswith("ray.io/")]
    assert len(core) >= 12
    for obj in core:
        kubernetes_validate.validate(obj, load(environment).cluster.kubernetes_version, strict=True)


def test_a_misspelt_field_is_found() -> None:
    job = next(obj for obj in _objects("dev") if obj["kind"] == "Job")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**job, "spec": {**job["spec"], "backofLimit": 1}}, "1.36", strict=True)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_api_versions(environment: str) -> None:
    assert {obj["apiVersion"] for obj in _objects(environment)} == {
        "v1",
        "batch/v1",
        "networking.k8s.io/v1",
        "policy/v1",
        "scheduling.k8s.io/v1",
        "ray.io/v1",
    }


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_pod_templates_of_ray_objects_are_valid_pods(environment: str) -> None:
    """The CRDs hold the pod's schema; here the pods are checked against Kubernetes' own."""
    for obj in _objects(environment):
        if obj["kind"] == "RayCluster":
            groups = [obj["spec"]["headGroupSpec"], *obj["spec"]["workerGroupSpecs"]]
            specs = [group["template"]["spec"] for group in groups]
        elif obj["kind"] == "RayJob":
            specs = [obj["spec"]["submitterPodTemplate"]["spec"]]
        else:
            continue
        for spec in specs:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
            kubernetes_validate.validate(pod, load(environment).cluster.kubernetes_version, strict=True)
