"""Each check finds its own fault, by its code, and the shipped environments have none."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from app import InvalidEnvironmentError
from eks_ray_train.checks import Finding, check_objects, check_settings, render
from environments.loading import load
from tests.synthesis import ENVIRONMENTS, manifests, settings_with, synthesise, templates

Objects = list[dict[str, Any]]


def _objects() -> Objects:
    found = [obj for stack in ("Gpu", "Training") for obj in manifests(templates("dev")[stack])]
    return copy.deepcopy(found)


def _of_kind(objects: Objects, kind: str) -> Any:
    return next(obj for obj in objects if obj["kind"] == kind)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_shipped_environments_have_no_finding(environment: str) -> None:
    objects = [obj for stack in ("Gpu", "Training") for obj in manifests(templates(environment)[stack])]
    assert {obj["kind"] for obj in objects} >= {"Job", "RayCluster", "RayJob", "ConfigMap"}
    assert check_settings(load(environment)) == []
    assert check_objects(load(environment), objects) == []


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"cluster.kubernetes_version": "1.30"}, ["kubernetes-creatable", "driver-fits-cuda"]),
        ({"cluster.kubernetes_version": "1.33"}, ["driver-fits-cuda", "kubectl-skew"]),
        ({"cluster.kubernetes_version": "1.34"}, ["kubectl-skew"]),
        ({"cluster.kubernetes_version": "1.35"}, []),
        ({"cluster.kubernetes_version": "1.38"}, ["kubernetes-creatable", "kubectl-skew"]),
        ({"ray.version": "2.57.0"}, ["ray-version"]),
        ({"charts.kuberay_operator": "1.6.2"}, ["chart-version"]),
        ({"charts.efa_device_plugin": "v0.5.20"}, ["chart-version"]),
        ({"gpu_nodes.ami_release": "1.33.1-20251110"}, ["ami-version"]),
        ({"gpu_nodes.ami_release": "1.36.1-20261110"}, []),
        ({"ray.image": "registry/image:mine", "ray.version": "2.52.0"}, ["ray-version"]),
        ({"ray.image": "registry/image:mine", "ray.version": "2.53.0"}, []),
        ({"ray.shared_memory_gib": 119}, ["pod-memory"]),
        ({"ray.head.memory_gib": 4}, ["pod-memory"]),
        (
            {"region": "xx-north-1", "network.availability_zones": ["xx-north-1a", "xx-north-1b", "xx-north-1c"]},
            ["region-known"],
        ),
    ],
)
def test_rules_on_settings(changes: dict[str, Any], codes: list[str]) -> None:
    assert [finding.code for finding in check_settings(settings_with(changes))] == codes


def test_kubernetes_1_30_takes_layer_v30_and_is_refused() -> None:
    settings = settings_with({"cluster.kubernetes_version": "1.30"})
    assert render(check_settings(settings)[:1], source="environments/dev.toml") == (
        "environments/dev.toml cannot work: 1 problem\n"
        "\n"
        "  cluster.kubernetes_version = 1.30 (kubectl layer v30)   [kubernetes-creatable]\n"
        "    expected: 1.32 or newer: EKS creates no cluster past its extended support\n"
        '    to do:    set kubernetes_version = "1.36", whose kubectl layer is v36'
    )


def test_kubectl_too_far_from_the_cluster() -> None:
    (finding,) = check_settings(settings_with({"cluster.kubernetes_version": "1.34"}))
    assert finding.value == "1.34 (nearest kubectl layer v36, 2 minors away)"
    assert finding.expected == ("a version at most one minor from a kubectl layer: there are layers for 1.30, 1.36")
    assert "aws-cdk.lambda-layer-kubectl-v34" in finding.remedy


@pytest.mark.failure_mode("F5")
def test_the_samples_head_does_not_fit_its_node() -> None:
    settings = settings_with({"ray.head.cpu": 4, "ray.head.memory_gib": 16})
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings)
    assert str(error.value) == (
        "environments/dev.toml cannot work: 1 problem\n"
        "\n"
        "  ray.head = 4 CPU, 16.0 GiB for ray-head   [pod-fits]\n"
        "    expected: at most 3.75 CPU, 13.7 GiB, the most that is free on one of 1 x m7i.xlarge (system_nodes)\n"
        "    to do:    ask for less, or choose a larger instance type or more nodes"
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ray.head.cpu": 3}, "system_nodes.instance_type"),  # then the submitter is left over
        ({"ray.head.memory_gib": 13}, "system_nodes.instance_type"),
        ({"ray.worker.cpu": 48}, "ray.worker"),
        ({"ray.worker.memory_gib": 170}, "ray.worker"),
    ],
)
def test_pods_that_do_not_fit_together(changes: dict[str, Any], field: str) -> None:
    settings = settings_with(changes)
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings)
    assert f"  {field} = " in str(error.value)
    assert "[pod-fits]" in str(error.value)


def test_a_second_system_node_makes_room() -> None:
    assert "Training" in synthesise(settings_with({"ray.head.cpu": 3, "system_nodes.count": 2}))


def _worker(objects: Objects) -> Any:
    return _of_kind(objects, "RayCluster")["spec"]["workerGroupSpecs"][0]


def _fewer_workers(objects: Objects) -> None:
    _worker(objects)["replicas"] = 1


def _set_amount(objects: Objects, name: str, value: str, kinds: tuple[str, ...] = ("requests", "limits")) -> None:
    for kind in kinds:
        _worker(objects)["template"]["spec"]["containers"][0]["resources"][kind][name] = value


def _fewer_gpus(objects: Objects) -> None:
    _set_amount(objects, "nvidia.com/gpu", "2")
    _worker(objects)["rayStartParams"]["num-gpus"] = "2"


def _no_efa(objects: Objects) -> None:
    _set_amount(objects, "vpc.amazonaws.com/efa", "0")


def _ray_counts_more_gpus(objects: Objects) -> None:
    _worker(objects)["rayStartParams"]["num-gpus"] = "8"


def _burstable(objects: Objects) -> None:
    _set_amount(objects, "cpu", "10", kinds=("requests",))


def _large_code(objects: Objects) -> None:
    _of_kind(objects, "ConfigMap")["data"]["data.py"] = "x" * 300_000


def _no_code(objects: Objects) -> None:
    del _of_kind(objects, "ConfigMap")["data"]["train.py"]


def _shell(objects: Objects) -> None:
    _of_kind(objects, "RayJob")["spec"]["entrypoint"] += "; curl example.com"


def _substitution(objects: Objects) -> None:
    _of_kind(objects, "RayJob")["spec"]["entrypoint"] += " $(id)"


def _substitution_in_variables(objects: Objects) -> None:
    _of_kind(objects, "RayJob")["spec"]["runtimeEnvYAML"] = 'env_vars: {A: "`id`"}'


def _long_job_name(objects: Objects) -> None:
    _of_kind(objects, "RayJob")["metadata"]["name"] = "a" * 48


def _cluster_name_with_a_dot(objects: Objects) -> None:
    _of_kind(objects, "RayCluster")["metadata"]["name"] = "ray.cluster"


@pytest.mark.parametrize(
    ("mutate", "code"),
    [
        (_fewer_workers, "worker-count"),
        (_fewer_gpus, "gpu-count"),
        (_no_efa, "efa-count"),
        (_ray_counts_more_gpus, "ray-gpu-count"),
        (_burstable, "requests-are-limits"),
        (_large_code, "code-size"),
        (_no_code, "code-present"),
        (_shell, "entrypoint-shell"),
        (_substitution, "entrypoint-shell"),
        (_substitution_in_variables, "entrypoint-shell"),
        (_long_job_name, "ray-name"),
        (_cluster_name_with_a_dot, "ray-name"),
    ],
)
def test_rules_on_objects(mutate: Callable[[Objects], None], code: str) -> None:
    objects = _objects()
    mutate(objects)
    findings = check_objects(load("dev"), objects)
    assert [finding.code for finding in findings] == [code]


@pytest.mark.failure_mode("D4")
def test_code_over_the_limit_is_refused_at_synthesis() -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(load("dev"), code={"train.py": "", "big.py": "x" * 300_000})
    assert "training/ = 300," in str(error.value)
    assert "most of them in big.py   [code-size]" in str(error.value)
    assert "at most 204,800 bytes" in str(error.value)


def test_shell_characters_are_named() -> None:
    objects = _objects()
    _shell(objects)
    (finding,) = check_objects(load("dev"), objects)
    assert finding.field == "RayJob: entrypoint"
    assert finding.expected == "none of ';': KubeRay hands it to a shell unquoted"


def test_every_finding_says_what_to_do() -> None:
    objects = _objects()
    for mutate in (_fewer_gpus, _no_efa, _large_code, _shell, _long_job_name):
        mutate(objects)
    findings: list[Finding] = check_objects(load("dev"), objects)
    assert len({finding.code for finding in findings}) == 5
    assert all(finding.expected and finding.remedy for finding in findings)
