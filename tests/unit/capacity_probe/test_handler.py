from io import BytesIO
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from eks_ray_train.capacity_probe.asset.gpu_capacity.handler import CONFIG, handler
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import TIME_KEPT_MS

from .fakes import A, World
from .sent import create


class Context:
    log_group_name = "dev-Gpu-Log"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


class Body(BytesIO):
    def stream(self) -> list[bytes]:  # as urllib3's
        return [self.read()]


class Meta:
    region_name = "us-east-2"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    world.ec2.meta = Meta()  # type: ignore[attr-defined] # boto3's clients have it
    made = {
        "ec2": world.ec2,
        "service-quotas": world.quotas,
        "resource-groups": world.groups,
        "cloudformation": world.stacks,
    }

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


def test_a_throttled_call_is_tried_four_times_with_pauses_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client(
        "ec2", region_name="us-east-2", aws_access_key_id="x", aws_secret_access_key="x", config=CONFIG
    )
    body = b"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>m</Message></Error></Errors></Response>"
    sent: list[object] = []

    def throttled(request: object, **_: object) -> AWSResponse:
        sent.append(request)
        return AWSResponse("https://ec2.example", 503, {}, Body(body))

    pauses: list[float] = []
    monkeypatch.setattr("botocore.endpoint.time.sleep", pauses.append)
    client.meta.events.register("before-send.ec2.*", throttled)
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        client.describe_availability_zones()
    assert len(sent) == 4
    assert len(set(pauses)) == 3
    assert max(pauses) < 20
