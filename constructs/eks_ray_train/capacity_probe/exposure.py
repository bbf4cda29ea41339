"""The most that a reservation can cost which nobody uses, because a deploy or the probe's function died."""

from .asset.gpu_capacity.reservation import ENDS_AFTER

ENDS_WITHIN_MINUTES = 60
"""EC2 ends a limited reservation within an hour after its end date (EC2 API reference, CreateCapacityReservation)."""

_PROOF_MINUTES = int(ENDS_AFTER.total_seconds()) // 60


def most_minutes(mode: str, hold_minutes: int | None) -> int:
    """The longest that a reservation of the probe's can bill without instances in it; 0 where a mode makes none."""
    if mode == "hold":
        assert hold_minutes is not None  # the settings' default, or refused
        return hold_minutes + ENDS_WITHIN_MINUTES
    return _PROOF_MINUTES + ENDS_WITHIN_MINUTES if mode == "probe" else 0


def most_usd(mode: str, hold_minutes: int | None, *, count: int, usd_per_hour: float) -> float:
    """The same in US dollars, for ``count`` instances at an On-Demand price."""
    return most_minutes(mode, hold_minutes) / 60 * count * usd_per_hour
