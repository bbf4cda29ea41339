"""[cost]: what cannot be meant, and what does not go together."""

from typing import Any

import pytest

from environments.sections.cost import IDLE_MINUTES_LEAST
from k8s.fabric_check import DEADLINE_SECONDS
from k8s.ray_job import PRE_RUNNING_DEADLINE_SECONDS, WAIT_SECONDS
from tests.unit.refusals import check_refusal
from training.heartbeat import SECONDS_BETWEEN_SIGNS


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        ({"cost.idle_minutes": 59}, "cost.idle_minutes = 59", "greater than or equal to 60", "60 to 1440"),
        ({"cost.idle_minutes": 1441}, "cost.idle_minutes = 1441", "less than or equal to 1440", "60 to 1440"),
        ({"cost.monthly_budget_usd": 100}, "cost.notify is missing", "it sends mails", "notify = ["),
        (
            {"cost": {"notify": ["a@b.example"]}},
            'cost.notify = ["a@b.example"]',
            "none without cost.monthly_budget_usd and cost.idle_minutes",
            "remove it, or set one of these",
        ),
        ({"cost.notify": ["nobody"]}, 'cost.notify.0 = "nobody"', "@", "e-mail addresses"),
        ({"cost.notify": ["a@b.example"] * 11}, "cost.notify", "10 items", "up to 10 e-mail addresses"),
        ({"cost.monthly_budget_usd": 0}, "cost.monthly_budget_usd = 0", "equal to 1", "US dollars a month"),
    ],
)
def test_refusals(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)


def test_neither_a_deploy_nor_a_job_is_silent_for_so_long() -> None:
    # From when the nodes are awake. The stack waits a little longer for the check than the check has.
    before_the_job = DEADLINE_SECONDS + 60 + PRE_RUNNING_DEADLINE_SECONDS + WAIT_SECONDS
    assert before_the_job + 5 * 60 <= IDLE_MINUTES_LEAST * 60
    assert 10 * SECONDS_BETWEEN_SIGNS <= IDLE_MINUTES_LEAST * 60
