"""[cost]: what cannot be meant, and what does not go together."""

from typing import Any

import pytest

from tests.unit.refusals import check_refusal


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        # A deploy must not be taken for idleness.
        ({"cost.idle_minutes": 44}, "cost.idle_minutes = 44", "greater than or equal to 45", "45 to 1440"),
        ({"cost.idle_minutes": 1441}, "cost.idle_minutes = 1441", "less than or equal to 1440", "45 to 1440"),
        ({"cost.monthly_budget_usd": 100}, "cost.notify is missing", "it sends mails", "notify = ["),
        (
            {"cost.notify": ["a@b.example"]},
            "cost.monthly_budget_usd is missing",
            "told of nothing else",
            "monthly_budget_usd = 2000",
        ),
        ({"cost.notify": ["nobody"]}, 'cost.notify.0 = "nobody"', "@", "e-mail addresses"),
        ({"cost.notify": ["a@b.example"] * 11}, "cost.notify", "10 items", "up to 10 e-mail addresses"),
        ({"cost.monthly_budget_usd": 0}, "cost.monthly_budget_usd = 0", "equal to 1", "US dollars a month"),
    ],
)
def test_refusals(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)
