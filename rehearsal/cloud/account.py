"""What the emulated account is made of: the one object that every part is given."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from rehearsal.cloud.capacity import Capacity
from rehearsal.cloud.eks import Eks
from rehearsal.cloud.events import EventLog
from rehearsal.cloud.functions.definitions import Functions
from rehearsal.cloud.kubernetes import Kubernetes

ACCOUNT_ID = "123456789012"
REGION = "us-east-2"


@dataclass(kw_only=True)
class Account:
    """One account in one region.

    ``endpoint`` is where every AWS call goes, ``tools`` a cache folder, ``charts`` a folder of Helm charts by name.
    """

    endpoint: str
    kubernetes: Kubernetes
    tools: Path
    charts: Path | None
    events: EventLog
    region: str = REGION
    id: str = ACCOUNT_ID
    eks: Eks = field(default_factory=Eks)
    capacity: Capacity = field(default_factory=Capacity)
    functions: Functions = field(default_factory=Functions)
    placement_groups: dict[str, str] = field(default_factory=dict)
    _clients: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, service: str) -> Any:
        """Return a boto3 client of a service of this account; typed Any because boto3 ships no types."""
        with self._lock:
            if service not in self._clients:
                self._clients[service] = boto3.session.Session().client(
                    service,
                    region_name=self.region,
                    endpoint_url=self.endpoint,
                    aws_access_key_id="test",
                    aws_secret_access_key="test",  # noqa: S106 - moto takes any
                    # Nothing here leaves the machine, whatever proxy the environment names.
                    config=Config(
                        proxies={}, retries={"total_max_attempts": 1}, read_timeout=120, max_pool_connections=32
                    ),
                )
            return self._clients[service]

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource of this account."""
        return f"arn:aws:{service}:{self.region}:{self.id}:{resource}"
