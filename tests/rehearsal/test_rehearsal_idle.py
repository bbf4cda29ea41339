"""What the rehearsal says of GPU nodes that nobody trains on."""

from pathlib import Path
from typing import Any, cast

import pytest

from rehearsal import deployment
from rehearsal.deployment import Deployment, Settings
from rehearsal.errors import RehearsalError


class Account:
    """An account whose schedule looks once, and says so."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def tell(self, what: str, **fields: Any) -> Any:
        self.told.append((what, fields))
        return [{"answer": {"parked": True, "reason": "61 of 60 minutes"}}] if what == "schedules" else {}


def _idle(monkeypatch: pytest.MonkeyPatch, account: Account, minutes: int | None, left: list[str]) -> str:
    monkeypatch.setattr(
        deployment, "nodes", lambda account: {"system": ["a"], **({"gpu-worker": left} if left else {})}
    )
    settings = Settings("dev", "us-east-2", minutes, Path())
    return Deployment(cast("Any", account), cast("Any", None), settings, Path(), {}).idle()


def test_time_passes_and_the_schedule_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    assert _idle(monkeypatch, account, 60, []) == "0 left, for 61 of 60 minutes"
    assert account.told == [("clock", {"minutes": 60}), ("schedules", {})]


def test_where_nothing_parks_them_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account()
    assert _idle(monkeypatch, account, None, ["b", "b"]) == "stay: cost.idle_minutes is not set"
    assert account.told == []


def test_nodes_that_are_left_fail_the_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RehearsalError, match="2 after 60 minutes") as error:
        _idle(monkeypatch, Account(), 60, ["b", "b"])
    assert "constructs/eks_ray_train/gpu_parking/" in str(error.value)
