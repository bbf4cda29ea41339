import pytest

from eks_ray_train.capacity_probe.exposure import most_minutes, most_usd


@pytest.mark.parametrize(
    ("mode", "hold", "minutes"),
    [("hold", 60, 120), ("hold", 15, 75), ("probe", None, 120), ("zone", None, 0), ("reservation", None, 0)],
)
def test_an_hour_beyond_the_end_date_at_most(mode: str, hold: int | None, minutes: int) -> None:
    assert most_minutes(mode, hold) == minutes


def test_in_dollars() -> None:
    assert most_usd("hold", 60, count=2, usd_per_hour=4.6016) == pytest.approx(18.4064)
