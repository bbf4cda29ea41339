"""No rule objects to what is right: the shipped environments, and five of other families."""

from typing import Any

import pytest

from eks_ray_train.checks import check_dates, check_objects, check_settings, check_templates
from environments.loading import load
from tests.synthesis import ENVIRONMENTS, settings_with, synthesise, templates
from tests.unit.checks.drafts import TODAY, objects_of

_TWO_ZONES = {"region": "us-west-2", "network.availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"]}
# One line changes the family; the rest is what such an environment would also have.
OTHERS: dict[str, dict[str, Any]] = {
    "g5.48xlarge": {"gpu_nodes.count": 4},
    "g6e.48xlarge": {"gpu_nodes.placement_group": True, "training.micro_batch": 4},
    "p4d.24xlarge": {**_TWO_ZONES, "gpu_nodes.count": 8},
    "p5.48xlarge": {**_TWO_ZONES, "gpu_nodes.count": 32, "system_nodes.count": 2, "ray.head.memory_gib": 12},
    "p6-b200.48xlarge": {
        "capacity": {
            "mode": "reservation",
            "reservation_id": "cr-0123456789abcdef0",
            "reservation_type": "capacity-block",
        },
        "training.sequence_length": 8192,
    },
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_shipped_environments_have_no_finding(environment: str) -> None:
    settings, found = load(environment), templates(environment)
    objects = objects_of(found)
    assert {obj["kind"] for obj in objects} >= {"Job", "RayCluster", "RayJob", "ConfigMap"}
    assert check_settings(settings) == []
    assert check_objects(settings, objects) == []
    assert check_templates(settings, found) == []
    assert check_dates(settings, TODAY) == []


@pytest.mark.parametrize("instance_type", OTHERS)
def test_other_families_have_no_finding(instance_type: str) -> None:
    settings = settings_with({"gpu_nodes.instance_type": instance_type, **OTHERS[instance_type]})
    found = synthesise(settings)
    assert check_settings(settings) == []
    assert check_objects(settings, objects_of(found)) == []
    assert check_templates(settings, found) == []
    assert check_dates(settings, TODAY) == []
