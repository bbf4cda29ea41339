"""[capacity]: what does not go with the mode, the zones or the nodes."""

from typing import Any

import pytest

from tests.synthesis import settings_with
from tests.unit.refusals import check_refusal, refused_fields


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        ({"capacity.mode": "guess"}, 'capacity.mode = "guess"', "'zone' or 'reservation'", "Write hold"),
        ({"capacity": {"mode": "zone"}}, "capacity.zone is missing", "one with mode zone", "name one of"),
        (
            {"capacity": {"mode": "reservation"}},
            "capacity.reservation_id is missing",
            "one with mode reservation",
            "name it, such as cr-",
        ),
        (
            {"capacity": {"mode": "reservation", "reservation_id": "lt-12345678"}},
            'capacity.reservation_id = "lt-12345678"',
            "^cr-",
            "such as cr-",
        ),
        (
            {"capacity": {"mode": "probe", "hold_minutes": 60}},
            "capacity.hold_minutes = 60",
            "none with mode probe, which does not read it; it is for hold",
            "remove it",
        ),
        (
            {"capacity.zone": "us-east-2a"},
            'capacity.zone = "us-east-2a"',
            "none with mode hold, which does not read it; it is for zone",
            "remove it",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2a", "exclude_zones": ["us-east-2b"]}},
            'capacity.exclude_zones = ["us-east-2b"]',
            "none with mode zone, which does not read it; it is for hold, probe, offerings",
            "remove it",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2a", "zones": ["us-east-2a"]}},
            'capacity.zones = ["us-east-2a"]',
            "none with mode zone",
            "remove it",
        ),
        (
            {"capacity.reservation_id": "cr-0123456789abcdef0"},
            'capacity.reservation_id = "cr-0123456789abcdef0"',
            "none with mode hold",
            "remove it",
        ),
        (
            {"capacity.reservation_type": "on-demand"},
            'capacity.reservation_type = "on-demand"',
            "none with mode hold",
            "remove it",
        ),
        ({"capacity.hold_minutes": 14}, "capacity.hold_minutes = 14", "greater than or equal to 15", "15 to 720"),
        ({"capacity.hold_minutes": 721}, "capacity.hold_minutes = 721", "less than or equal to 720", "15 to 720"),
        (
            {"capacity.zones": ["us-east-2f"]},
            'capacity.zones = ["us-east-2f"]',
            "zones of network.availability_zones (us-east-2a, us-east-2b, us-east-2c), and us-east-2f is not",
            "remove it here, or add it there",
        ),
        (
            {"capacity.zones": ["us-east-2a"], "capacity.exclude_zones": ["us-east-2b"]},
            'capacity.exclude_zones = ["us-east-2b"]',
            "zones of those to look in (us-east-2a), and us-east-2b is not",
            "remove it",
        ),
        (
            {"capacity.exclude_zones": ["us-east-2a", "us-east-2b", "us-east-2c"]},
            "capacity.exclude_zones = [",
            "a zone left to look in of us-east-2a, us-east-2b, us-east-2c",
            "remove one",
        ),
        (
            {
                "capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"},
                "gpu_nodes.placement_group": True,
            },
            "gpu_nodes.placement_group = true",
            "false with capacity.mode reservation",
            "set placement_group = false",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2d"}},
            'capacity.zone = "us-east-2d"',
            "one of network.availability_zones: us-east-2a",
            "name one of these",
        ),
    ],
)
def test_bad_values(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        (
            {"capacity": {"mode": "zone", "hold_minutes": 60, "exclude_zones": ["us-east-2a"]}},
            ["capacity.exclude_zones", "capacity.hold_minutes", "capacity.zone"],
        ),
    ],
)
def test_each_setting_that_is_ignored_or_missing_is_listed(changes: dict[str, Any], fields: list[str]) -> None:
    assert refused_fields(changes) == fields


def test_capacity_s_defaults() -> None:
    assert settings_with({"capacity.hold_minutes": None}).capacity.search.hold_minutes == 60
    assert settings_with({"capacity": {"mode": "probe"}}).capacity.search.hold_minutes is None
    named = settings_with({"capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"}})
    assert named.capacity.search.reservation_type == "on-demand"
