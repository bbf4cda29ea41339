"""A clock that only sleeping and calling move."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 11, 29, 12, 0, 0, 345_678, tzinfo=UTC)


@dataclass
class Clock:
    now: datetime = NOW

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
