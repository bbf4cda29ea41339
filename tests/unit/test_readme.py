"""What README shows is what the commands print."""

import re

import pytest

from app import InvalidEnvironmentError
from eks_ray_train.costs import disks, hourly
from environments.loading import load
from environments.settings import Settings
from tests.synthesis import REPOSITORY, settings_with, synthesise

README = (REPOSITORY / "README.md").read_text()


def test_costs() -> None:
    parts = hourly(load("dev"))
    for part in parts:
        assert f"| {part.name} | {part.quantity} | {part.usd_per_hour:.4f} | {part.total:.4f} |" in README
    assert f"| **sum** | | | **{sum(part.total for part in parts):.4f}** |" in README
    assert f"Disks add about {disks(load('dev')):.2f};" in README


def test_costs_follow_the_settings() -> None:
    three = hourly(settings_with({"gpu_nodes.count": 3, "network.nat_gateways": 3}))
    assert [part.quantity for part in three] == [3, 1, 1, 3]
    assert sum(part.total for part in three) == pytest.approx(3 * 4.6016 + 0.2016 + 0.1 + 3 * 0.045)


def test_the_error_that_it_shows() -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings_with({"ray.head.cpu": 4, "ray.head.memory_gib": 16}))
    assert f"```\n{error.value}\n```" in README


def test_every_table_of_settings_is_listed() -> None:
    for name, field in Settings.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            assert f"`{name}`" in README, name


def test_links_lead_somewhere() -> None:
    for document in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
