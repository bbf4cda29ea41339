"""What the emulated account is made of: the one object that every part is given."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from rehearsal.cloud.capacity import Capacity
from rehearsal.cloud.chart_sources import Charts
from rehearsal.cloud.eks import Eks
from rehearsal.cloud.events import EventLog
from rehearsal.cloud.functions.definitions import Functions
from rehearsal.cloud.functions.running import Running
from rehearsal.cloud.groups import Groups
from rehearsal.cloud.kubernetes import Kubernetes
from rehearsal.cloud.scaling import Scaling
from rehearsal.cloud.traffic import Traffic

ACCOUNT_ID = "123456789012"
REGION = "us-east-2"
# The emulation's own calls to itself: neither counted nor delayed. moto takes any key.
OWN_KEY = "rehearsal"


@dataclass(kw_only=True)
class Placement:
    """A placement group, which moto lacks."""

    strategy: str
    tags: list[dict[str, str]] = field(default_factory=list)


@dataclass(kw_only=True)
class Account:
    """One account: stacks are in one region, questions about capacity go to all of them.

    ``endpoint`` is where every AWS call goes, ``tools`` a cache folder.
    """

    endpoint: str
    kubernetes: Kubernetes
    tools: Path
    charts: Charts
    events: EventLog
    region: str = REGION
    id: str = ACCOUNT_ID
    eks: Eks = field(default_factory=Eks)
    capacity: Capacity = field(default_factory=Capacity)
    functions: Functions = field(default_factory=Functions)
    running: Running = field(default_factory=Running)
    placement_groups: dict[str, Placement] = field(default_factory=dict)
    groups: Groups = field(default_factory=Groups)
    scaling: Scaling = field(default_factory=Scaling)
    traffic: Traffic = field(default_factory=Traffic)
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    # One, for it keeps what it has read of botocore's models; making clients of it needs the lock.
    _session: Any = field(default_factory=boto3.session.Session)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.groups.on_visible = self._joined

    def _joined(self, group: str, reservation: str) -> None:
        moved = self.capacity.move(reservation, group)
        self.events.write(action="MEMBER_VISIBLE", group=group, reservation=reservation)
        for instance in moved:
            self.events.write(action="MOVED", instance=instance, reservation=reservation)

    def client(self, service: str, region: str | None = None) -> Any:
        """Return a boto3 client of a service, in the account's region unless another one is named.

        Typed Any because boto3 ships no types.
        """
        region = region or self.region
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._session.client(
                    service,
                    region_name=region,
                    endpoint_url=self.endpoint,
                    aws_access_key_id=OWN_KEY,
                    aws_secret_access_key="test",  # noqa: S106 - moto takes any
                    # Nothing here leaves the machine, whatever proxy the environment names.
                    config=Config(
                        proxies={}, retries={"total_max_attempts": 1}, read_timeout=120, max_pool_connections=32
                    ),
                )
            return self._clients[service, region]

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource of this account."""
        return f"arn:aws:{service}:{self.region}:{self.id}:{resource}"
