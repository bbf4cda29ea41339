"""The Lambda function: makes the clients and hands over."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import boto3
from botocore.config import Config

from .clients import Clients
from .errors import ProbeError
from .events import on_event

# Throttled calls are tried again after a growing pause. The longest call, 4 x (5 + 10) s, leaves time to cancel within
# reservation.TIME_KEPT_MS.
CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "adaptive", "total_max_attempts": 4})


class Context(Protocol):
    """The part of Lambda's context that is used here."""

    log_group_name: str

    def get_remaining_time_in_millis(self) -> int:
        """Return the time until Lambda ends the invocation."""


def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Answer one event of the provider framework; what is raised becomes the resource's status reason."""
    ec2 = boto3.client("ec2", config=CONFIG)
    clients = Clients(
        ec2=ec2,
        quotas=boto3.client("service-quotas", config=CONFIG),
        groups=boto3.client("resource-groups", config=CONFIG),
        stacks=boto3.client("cloudformation", config=CONFIG),
        region=ec2.meta.region_name,
        remaining_ms=context.get_remaining_time_in_millis,
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
    )
    try:
        return on_event(event, clients)
    except ProbeError as error:
        # The framework adds "Logs: /aws/lambda/<function>", which is not where a function with its own group logs.
        raise RuntimeError(f"{error} Log group: {context.log_group_name}") from error
