"""What the functions need of the outside world, so that tests can give them something else."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class Eks(Protocol):
    """The part of boto3's EKS client that is used here."""

    def describe_nodegroup(self, **parameters: Any) -> dict[str, Any]:
        """Return a node group's state, wanted size and Auto Scaling group."""

    def update_nodegroup_config(self, **parameters: Any) -> dict[str, Any]:
        """Change its size. Nodes come and go later."""


class Bucket(Protocol):
    """The part of boto3's S3 client that is used here."""

    def list_objects_v2(self, **parameters: Any) -> dict[str, Any]:
        """Return up to 1,000 objects with the times of their last writing."""

    def put_object(self, **parameters: Any) -> dict[str, Any]:
        """Write an object."""


class Scaling(Protocol):
    """The part of boto3's Auto Scaling client that is used here."""

    def describe_auto_scaling_groups(self, **parameters: Any) -> dict[str, Any]:
        """Return groups with their instances."""

    def describe_scaling_activities(self, **parameters: Any) -> dict[str, Any]:
        """Return what a group did, newest first, failed launches with EC2's reason."""


class Stacks(Protocol):
    """The part of boto3's CloudFormation client that is used here."""

    def describe_stacks(self, **parameters: Any) -> dict[str, Any]:
        """Return the state of a stack."""


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Clients of one region: what parking needs."""

    eks: Eks
    s3: Bucket
    scaling: Scaling


@dataclass(frozen=True, kw_only=True)
class WakingClients(Clients):
    """What waking needs besides, and the clock.

    ``remaining_ms`` is the time left to this invocation, ``now`` is in UTC, ``sleep`` takes seconds.
    """

    stacks: Stacks
    region: str
    remaining_ms: Callable[[], int]
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
