from typing import Any

import boto3
import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.handler import CONFIG, handler
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import TIME_KEPT_MS

from .fakes import A, World, create


class Context:
    log_group_name = "dev-Gpu-Log"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


class Meta:
    region_name = "us-east-2"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    world.ec2.meta = Meta()  # type: ignore[attr-defined] # boto3's clients have it
    made = {"ec2": world.ec2, "service-quotas": world.quotas}

    def client(service: str, *, config: Any) -> Any:
        assert config is CONFIG
        return made[service]

    monkeypatch.setattr(boto3, "client", client)
    return world


def test_the_handler_makes_the_clients_and_hands_over(world: World) -> None:
    assert handler(create(), Context())["Data"]["AvailabilityZone"] == A


def test_a_refusal_names_the_log_group_and_fits_cloudformation(world: World) -> None:
    world.ec2.offered = []
    with pytest.raises(RuntimeError, match=r"or instance type\. Log group: dev-Gpu-Log$") as caught:
        handler(create(), Context())
    assert len(str(caught.value)) < 1000


def test_retries_and_waits_are_bounded_so_that_a_reservation_can_still_be_cancelled() -> None:
    client = boto3.client(
        "ec2", region_name="us-east-2", aws_access_key_id="x", aws_secret_access_key="x", config=CONFIG
    )
    config = client.meta.config
    assert config.retries["mode"] == "adaptive"
    longest_s = config.retries["total_max_attempts"] * (config.connect_timeout + config.read_timeout)
    assert longest_s * 1000 < TIME_KEPT_MS
