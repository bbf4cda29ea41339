"""What README shows is what the commands print."""

import re

import pytest

from app import InvalidEnvironmentError
from eks_ray_train.capacity_probe.asset.gpu_capacity.quota import Quota
from eks_ray_train.capacity_probe.exposure import most_usd
from eks_ray_train.costs import disks, hourly, known_total
from eks_ray_train.instance_types import INSTANCE_TYPES
from environments.loading import load
from environments.settings import Settings
from ops.capacity.probe import group, quota_text
from tests.synthesis import REPOSITORY, settings_with, synthesise

README = (REPOSITORY / "README.md").read_text()


def test_costs() -> None:
    parts = hourly(load("dev"))
    for part in parts:
        assert f"| {part.name} | {part.quantity} | {part.usd_per_hour:.4f} | {part.total:.4f} |" in README
    assert f"| **sum** | | | **{known_total(parts)[0]:.4f}** |" in README
    assert f"Disks add about {disks(load('dev')):.2f};" in README


def test_costs_follow_the_settings() -> None:
    three = hourly(settings_with({"gpu_nodes.count": 3, "network.nat_gateways": 3}))
    assert [part.quantity for part in three] == [3, 1, 1, 3]
    total, unknown = known_total(three)
    assert total == pytest.approx(3 * 4.6016 + 0.2016 + 0.1 + 3 * 0.045)
    assert unknown == []


def test_costs_do_not_make_up_a_price() -> None:
    parts = hourly(settings_with({"gpu_nodes.instance_type": "p5e.48xlarge"}))
    assert [part.total for part in parts[:2]] == [None, 0.2016]
    total, unknown = known_total(parts)
    assert total == pytest.approx(0.2016 + 0.1 + 0.045)
    assert unknown == ["p5e.48xlarge"]


def test_the_error_that_it_shows() -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings_with({"ray.head.cpu": 4, "ray.head.memory_gib": 16}))
    assert f"```\n{error.value}\n```" in README


def test_the_refusal_for_want_of_quota_that_it_shows() -> None:
    wanted = group(INSTANCE_TYPES["g6.12xlarge"], 2, owner="anyone")
    said = quota_text(wanted, Quota(code=wanted.quota_code, limit=48, used=0), "us-east-2")
    assert said in " ".join(README.split())


def test_what_a_hold_can_cost_and_how_many_types_there_are() -> None:
    dev = load("dev")
    search, gpu = dev.capacity.search, dev.gpu_nodes
    assert gpu.instance.usd_per_hour is not None
    most = most_usd(search.mode, search.hold_minutes, count=gpu.count, usd_per_hour=gpu.instance.usd_per_hour)
    assert f"${most:.2f} in dev" in README
    assert f"lists the {sum(1 for row in INSTANCE_TYPES.values() if row.gpus)} types" in README


def test_every_table_of_settings_is_listed() -> None:
    for name, field in Settings.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            assert f"`{name}`" in README, name


def test_links_lead_somewhere() -> None:
    for document in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
