"""What is told without being a finding."""

from typing import Any

import pytest

from eks_ray_train.checks import notes
from tests.synthesis import settings_with

BLOCK: dict[str, Any] = {
    "gpu_nodes.instance_type": "p5.48xlarge",
    "capacity": {
        "mode": "reservation",
        "reservation_id": "cr-0123456789abcdef0",
        "reservation_type": "capacity-block",
    },
}


@pytest.mark.parametrize(
    ("changes", "topic", "text"),
    [
        ({"gpu_nodes.count": 3}, "quota", "144 vCPUs of quota L-DB2E81BA, which limits its running On-Demand G and VT"),
        ({"gpu_nodes.instance_type": "p5.48xlarge"}, "quota", "384 vCPUs of quota L-417A185B"),
        (
            {"region": "us-east-1", "network.availability_zones": ["us-east-1a", "us-east-1b"]},
            "zones",
            "the id use1-az3",
        ),
        ({"gpu_nodes.instance_type": "p5.48xlarge"}, "replacement", "2 x p5.48xlarge are 384 vCPUs"),
        ({"gpu_nodes.placement_group": True}, "replacement", "the zone cannot change while nodes run"),
        (BLOCK, "replacement", "only while its desired size is 0"),
        ({}, "access", "private"),
        ({}, "cost", "for 60 minutes, the GPU nodes are scaled to zero"),
        ({"cost": {}}, "cost", "cost.idle_minutes would park idle ones"),
        (BLOCK, "cost", "A reservation of your own bills on"),
        (
            {"gpu_nodes.instance_type": "p5.48xlarge"},
            "unverified",
            "p5.48xlarge: the device index of the EFA interfaces on",
        ),
    ],
)
def test_what_is_told(changes: dict[str, Any], topic: str, text: str) -> None:
    told = [note.text for note in notes(settings_with(changes)) if note.topic == topic]
    assert any(text in each for each in told), told


@pytest.mark.parametrize(
    ("changes", "topic"),
    [
        ({}, "zones"),
        ({}, "unverified"),
        ({"cluster.public_endpoint_cidrs": ["8.8.8.8/32"]}, "access"),
    ],
)
def test_what_is_not(changes: dict[str, Any], topic: str) -> None:
    assert topic not in {note.topic for note in notes(settings_with(changes))}
