"""No dead option: each setting, changed to another valid value, changes some template."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from environments.loading import FOLDER, load
from environments.settings import Settings
from tests.synthesis import settings_with, synthesise

# Every other number is one more than it was, and every other switch the opposite.
_OTHER: dict[str, dict[str, Any]] = {
    "project": {"project": "other"},
    "region": {
        "region": "us-west-2",
        "network.availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"],
    },
    "network.availability_zones": {"network.availability_zones": ["us-east-2a", "us-east-2b"]},
    "network.vpc_cidr": {"network.vpc_cidr": "10.9.0.0/16"},
    "cluster.kubernetes_version": {"cluster.kubernetes_version": "1.35"},
    "cluster.admin_principals": {"cluster.admin_principals": ["arn:aws:iam::111122223333:role/Admin"]},
    "cluster.public_endpoint_cidrs": {"cluster.public_endpoint_cidrs": ["8.8.8.8/32"]},
    "gpu_nodes.ami_release": {"gpu_nodes.ami_release": "1.36.1-20261110"},
    "capacity.mode": {"capacity.mode": "zone", "capacity.zone": "us-east-2a"},
    "capacity.force_token": {"capacity.force_token": "again"},
    "charts.kuberay_operator": {"charts.kuberay_operator": "1.7.1"},
    "charts.nvidia_device_plugin": {"charts.nvidia_device_plugin": "0.20.1"},
    "charts.efa_device_plugin": {"charts.efa_device_plugin": "v0.5.33"},
    "ray.image": {"ray.image": "registry/image:mine"},
    "ray.version": {"ray.version": "2.58.1", "ray.image": "registry/image:mine"},
    "ray.transport": {"ray.transport.NCCL_DEBUG": "WARN"},
    "training.model": {"training.model": "Qwen/Qwen2.5-0.5B"},
    "training.revision": {"training.revision": 40 * "0"},
    "training.data": {"training.data": "synthetic"},
    "training.learning_rate": {"training.learning_rate": 1e-5},
    "ray.head.cpu": {"ray.head.cpu": 1},
    "gpu_nodes.count": {"gpu_nodes.count": 3},
}
# Not in a template: test_app.py and test_cluster.py look at the stacks. The table has one type for each place, and
# capacity.zone is tried with its mode.
_ELSEWHERE = {
    "account",
    "capacity.zone",
    "gpu_nodes.instance_type",
    "name",
    "system_nodes.instance_type",
    "termination_protection",
}


def _leaves(model: Any, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        nested = getattr(field.annotation, "model_fields", None)
        yield from _leaves(field.annotation, f"{prefix}{name}.") if nested else [f"{prefix}{name}"]


def _value(path: str) -> Any:
    document: Any = tomllib.loads((FOLDER / "dev.toml").read_text())
    for part in path.split("."):
        document = document[part]
    return document


def _changes(path: str) -> Mapping[str, Any]:
    if path in _OTHER:
        return _OTHER[path]
    value = _value(path)
    return {path: not value if isinstance(value, bool) else value + 1}


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return synthesise(load("dev"), {"train.py": "pass\n"})


@pytest.mark.parametrize("path", [path for path in _leaves(Settings) if path not in _ELSEWHERE])
def test_a_setting_that_changes_nothing_would_be_dead(path: str, before: dict[str, Any]) -> None:
    baseline = before
    if path == "ray.version":  # a version goes with its image
        baseline = synthesise(settings_with({"ray.image": "registry/image:mine"}), {"train.py": "pass\n"})
    after = synthesise(settings_with(_changes(path)), {"train.py": "pass\n"})
    assert after != baseline
