"""What the probe needs of the outside world, so that tests can give it something else."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class Ec2(Protocol):
    """The part of boto3's EC2 client that is used here."""

    def describe_availability_zones(self, **parameters: Any) -> dict[str, Any]:
        """Names and ids of the region's zones."""

    def describe_instance_type_offerings(self, **parameters: Any) -> dict[str, Any]:
        """Zones that offer an instance type."""

    def describe_instances(self, **parameters: Any) -> dict[str, Any]:
        """Instances of the account in the region."""

    def get_spot_placement_scores(self, **parameters: Any) -> dict[str, Any]:
        """EC2's guess, 1 to 10, at how well a Spot request would do."""

    def create_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        """Reserve On-Demand capacity."""

    def describe_capacity_reservations(self, **parameters: Any) -> dict[str, Any]:
        """Reservations of the account in the region, ended ones included for a while."""

    def modify_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        """Change a reservation's end date."""

    def cancel_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        """Give reserved capacity back."""

    def get_groups_for_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        """Resource groups that EC2 knows a reservation to be a member of."""


class Quotas(Protocol):
    """The part of boto3's Service Quotas client that is used here."""

    def get_service_quota(self, **parameters: Any) -> dict[str, Any]:
        """Return the value that applies to the account."""

    def get_aws_default_service_quota(self, **parameters: Any) -> dict[str, Any]:
        """Return the value that applies to an account for which none was ever set."""


class Groups(Protocol):
    """The part of boto3's Resource Groups client that is used here."""

    def group_resources(self, **parameters: Any) -> dict[str, Any]:
        """Add members to a group, now or soon."""


class Stacks(Protocol):
    """The part of boto3's CloudFormation client that is used here."""

    def describe_stacks(self, **parameters: Any) -> dict[str, Any]:
        """Return the state of a stack."""


def in_threads(*questions: Callable[[], Any]) -> list[Any]:
    """Ask questions at the same time; return their answers in order, or raise what the first that failed raised."""
    with ThreadPoolExecutor(max_workers=len(questions)) as pool:
        return [future.result() for future in [pool.submit(question) for question in questions]]


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Clients of one region, and the clock.

    ``remaining_ms`` is the time left to this invocation, ``now`` is in UTC, ``sleep`` takes seconds, ``at_once`` asks
    several questions. ``groups`` is needed to hold capacity only, ``stacks`` for updates only.
    """

    ec2: Ec2
    quotas: Quotas
    region: str
    remaining_ms: Callable[[], int]
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    groups: Groups | None = None
    stacks: Stacks | None = None
    at_once: Callable[..., list[Any]] = in_threads
