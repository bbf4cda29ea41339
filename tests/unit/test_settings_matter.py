"""No dead option: each setting, changed to another valid value, changes some template."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from environments.loading import FOLDER, load
from environments.settings import Settings
from tests.synthesis import CODE, settings_with, synthesise

_RESERVATION = {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"}
_SOLD_IN_BLOCKS = {"gpu_nodes.instance_type": "p5.48xlarge"}
_EVALUATION = {"training.evaluate_every": 10, "training.evaluation_sequences": 8}
_BUDGET = {"cost.monthly_budget_usd": 99, "cost.notify": ["a@b.example"]}
_HUB = "hf://datasets/org/name"
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
    "system_nodes.ami_release": {"system_nodes.ami_release": "1.36.1-20261110"},
    "capacity.mode": {"capacity": {"mode": "zone", "zone": "us-east-2a"}},
    "capacity.zones": {"capacity.zones": ["us-east-2a", "us-east-2b"]},
    "capacity.exclude_zones": {"capacity.exclude_zones": ["us-east-2a"]},
    "capacity.zone": {"capacity": {"mode": "zone", "zone": "us-east-2b"}},
    "capacity.reservation_id": {"capacity": _RESERVATION | {"reservation_id": "cr-0fedcba9876543210"}},
    "capacity.reservation_type": _SOLD_IN_BLOCKS | {"capacity": _RESERVATION | {"reservation_type": "capacity-block"}},
    "capacity.force_token": {"capacity.force_token": "again"},
    "charts.kuberay_operator": {"charts.kuberay_operator": "1.7.1"},
    "charts.nvidia_device_plugin": {"charts.nvidia_device_plugin": "0.20.1"},
    "charts.efa_device_plugin": {"charts.efa_device_plugin": "v0.5.33"},
    "ray.image": {"ray.image": "registry/image:mine"},
    "ray.version": {"ray.version": "2.58.1", "ray.image": "registry/image:mine"},
    "ray.transport": {"ray.transport.NCCL_DEBUG": "TRACE"},
    "training.model": {"training.model": "Qwen/Qwen2.5-0.5B"},
    "training.revision": {"training.revision": 40 * "0"},
    "training.data": {"training.data": "synthetic"},
    "training.data_revision": {"training.data": _HUB, "training.data_revision": 40 * "1"},
    "training.text_field": {"training.data": _HUB, "training.data_revision": 40 * "0", "training.text_field": "body"},
    "training.schedule": {"training.schedule": "cosine"},
    "training.sharding": {"training.sharding": "full"},
    "training.activation_checkpointing": {"training.activation_checkpointing": "full"},
    "training.reshard_after_forward": {"training.reshard_after_forward": False},
    "training.profile_steps": {"training.profile_steps": 3},
    "training.reduce_dtype": {"training.reduce_dtype": "bfloat16"},
    "training.evaluate_every": {"training.evaluate_every": 20, "training.evaluation_sequences": 8},
    "training.evaluation_sequences": {"training.evaluate_every": 10, "training.evaluation_sequences": 16},
    "training.require_transport": {"training.require_transport": "none"},
    "training.resume": {"training.resume": "train-0123456789"},
    "training.learning_rate": {"training.learning_rate": 1e-5},
    "ray.head.cpu": {"ray.head.cpu": 1},
    "gpu_nodes.count": {"gpu_nodes.count": 3},
    "gpu_nodes.instance_type": {"gpu_nodes.instance_type": "g6e.12xlarge"},
    "system_nodes.instance_type": {"system_nodes.instance_type": "m7i.2xlarge"},
    "cost.monthly_budget_usd": {"cost.monthly_budget_usd": 100, "cost.notify": ["a@b.example"]},
    "cost.notify": {"cost.monthly_budget_usd": 99, "cost.notify": ["c@d.example"]},
    # Left out of the file, for they follow from the instance type.
    "ray.worker.cpu": {"ray.worker.cpu": 39},
    "ray.worker.memory_gib": {"ray.worker.memory_gib": 143},
    "ray.shared_memory_gib": {"ray.shared_memory_gib": 33},
}
# Not in a template: test_app.py and test_cluster.py look at the stacks.
_ELSEWHERE = {
    "account",
    "name",
    "termination_protection",
}

# What goes with a setting: a version with its image, what only one mode reads with that mode.
_BESIDE: dict[str, dict[str, Any]] = {
    "ray.version": {"ray.image": "registry/image:mine"},
    "capacity.zone": {"capacity": {"mode": "zone", "zone": "us-east-2a"}},
    "capacity.reservation_id": {"capacity": _RESERVATION},
    "capacity.reservation_type": _SOLD_IN_BLOCKS | {"capacity": _RESERVATION},
    "cost.monthly_budget_usd": _BUDGET,
    "cost.notify": _BUDGET,
    "training.evaluate_every": _EVALUATION,
    "training.evaluation_sequences": _EVALUATION,
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
    return synthesise(load("dev"), CODE)


@pytest.mark.parametrize("path", [path for path in _leaves(Settings) if path not in _ELSEWHERE])
def test_a_setting_that_changes_nothing_would_be_dead(path: str, before: dict[str, Any]) -> None:
    baseline = before
    if path in _BESIDE:
        baseline = synthesise(settings_with(_BESIDE[path]), CODE)
    after = synthesise(settings_with(_changes(path)), CODE)
    assert after != baseline
