"""The account's limits on the vCPUs of On-Demand and Spot instances, by region."""

from dataclasses import dataclass, field

from eks_ray_train.instance_types import INSTANCE_TYPES
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.regions import region_of
from rehearsal.cloud.reservations import BLOCK, OPEN, Instance, Reservation

DEFAULT_QUOTA_VCPUS = 1000.0
# Of the same families: G and VT, Standard, P.
_SPOT = {"L-DB2E81BA": "L-3819A6DF", "L-1216C47A": "L-34B43A08", "L-417A185B": "L-7212CCBC"}
KNOWN = (*_SPOT, *_SPOT.values())
_REQUEST = "Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."


@dataclass
class Quotas:
    """Values that were set, by region and quota code; where none was, AWS's default applies."""

    _set: dict[tuple[str, str], float] = field(default_factory=dict)

    def set(self, region: str, code: str, vcpus: float | None) -> None:
        """Set the value of a region; None goes back to the default."""
        if code not in KNOWN:
            raise RefusedError(f"quota {code}: the rehearsal knows {', '.join(KNOWN)}")
        self._set.pop((region, code), None)
        if vcpus is not None:
            self._set[region, code] = vcpus

    def applied(self, region: str, code: str) -> float | None:
        """Return the value that was set for a region, if one was."""
        return self._set.get((region, code))

    def allows_spot(self, region: str, type: str, count: int) -> bool:
        """Whether the Spot quota of a region has room for a number of instances; none are running."""
        limit = self._set.get((region, _SPOT[INSTANCE_TYPES[type].quota_code]), DEFAULT_QUOTA_VCPUS)
        return count * INSTANCE_TYPES[type].vcpus <= limit

    def check_reservation(
        self, zone: str, type: str, count: int, reservations: list[Reservation], instances: list[Instance]
    ) -> None:
        """Refuse a reservation for which the quota has no room."""
        limit, free = self._room(zone, type, reservations, instances)
        if count * INSTANCE_TYPES[type].vcpus > free:
            most = limit // INSTANCE_TYPES[type].vcpus
            raise RefusedError(
                f"You have requested more instances ({count}) than your current instance limit of {most:.0f} allows "
                f"for the specified instance type. {_REQUEST}",
                "InstanceLimitExceeded",
            )

    def check_launch(self, zone: str, type: str, reservations: list[Reservation], instances: list[Instance]) -> None:
        """Refuse an On-Demand instance outside reservations for which the quota has no room."""
        limit, free = self._room(zone, type, reservations, instances)
        if INSTANCE_TYPES[type].vcpus > free:
            raise RefusedError(
                f"You have requested more vCPU capacity than your current vCPU limit of {limit:.0f} allows for the "
                f"instance bucket that the specified instance type belongs to. {_REQUEST}",
                "VcpuLimitExceeded",
            )

    def _room(
        self, zone: str, type: str, reservations: list[Reservation], instances: list[Instance]
    ) -> tuple[float, float]:
        """Return the limit and what is left. A reservation counts in full, and the instances in it not once more."""
        region, code = region_of(zone), INSTANCE_TYPES[type].quota_code
        limit = self._set.get((region, code), DEFAULT_QUOTA_VCPUS)
        held = [
            (item.instance_type, item.count)
            for item in reservations
            if item.state in OPEN and item.kind != BLOCK and item.region == region
        ]
        running = [
            (item.instance_type, 1)
            for item in instances
            if item.reservation is None and item.market != BLOCK and region_of(item.zone) == region
        ]
        used = sum(
            INSTANCE_TYPES[name].vcpus * count
            for name, count in [*held, *running]
            if INSTANCE_TYPES[name].quota_code == code
        )
        return limit, limit - used
