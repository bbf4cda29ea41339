"""The Lambda functions: make the clients and hand over."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients, WakingClients
from .nodes import NodeGroup
from .parking import Watched, on_schedule
from .waking import WakeError, on_event

# Throttled calls are tried again after a growing pause.
CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "adaptive", "total_max_attempts": 4})
# Waking's calls of EKS: it asks again by itself, and must not be ended while it still has to park nodes again.
TWICE = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
# Parking's calls of EKS: not tried again, so that none of them comes late. The next look is in five minutes.
ONCE = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 1})


class Context(Protocol):
    """The part of Lambda's context that is used here."""

    log_group_name: str

    def get_remaining_time_in_millis(self) -> int:
        """Return the time until Lambda ends the invocation."""


def park(event: Mapping[str, str], context: Context) -> dict[str, Any]:
    """Answer the schedule."""
    given = os.environ
    watched = Watched(
        group=NodeGroup(cluster=given["CLUSTER_NAME"], name=given["NODEGROUP_NAME"]),
        bucket=given["BUCKET"],
        prefix=given["PREFIX"],
        sign=given["SIGN_KEY"],
        patience=timedelta(minutes=int(given["IDLE_MINUTES"])),
    )
    clients = Clients(eks=boto3.client("eks", config=ONCE), s3=_client("s3"), scaling=_client("autoscaling"))
    return on_schedule(event, watched, clients)


def wake(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Answer one event of the provider framework; what is raised becomes the resource's status reason."""
    eks = boto3.client("eks", config=TWICE)
    clients = WakingClients(
        eks=eks,
        s3=_client("s3"),
        scaling=_client("autoscaling"),
        stacks=_client("cloudformation"),
        region=eks.meta.region_name,
        remaining_ms=context.get_remaining_time_in_millis,
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
    )
    try:
        return on_event(event, clients)
    except (WakeError, BotoCoreError, ClientError) as error:
        what = "" if isinstance(error, WakeError) else "The GPU nodes could not be looked after; deploy again: "
        # The framework adds "Logs: /aws/lambda/<function>", which is not where a function with its own group logs.
        raise RuntimeError(f"{what}{error} (log group: {context.log_group_name})") from error


def _client(service: str) -> Any:
    return boto3.client(service, config=CONFIG)
