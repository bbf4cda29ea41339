"""The monthly budget."""

from tests.synthesis import CODE, only, resources, settings_with, synthesise, templates

BUDGET = "AWS::Budgets::Budget"


def test_there_is_none_unless_it_is_set() -> None:
    assert resources(templates("dev")["Network"], BUDGET) == {}


def test_it_is_the_accounts_and_mails_before_and_at_its_limit() -> None:
    settings = settings_with({"cost.monthly_budget_usd": 500, "cost.notify": ["a@b.example", "c@d.example"]})
    made = only(synthesise(settings, CODE)["Network"], BUDGET)
    assert made["Budget"] == {
        "BudgetLimit": {"Amount": 500, "Unit": "USD"},
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
    }
    told = made["NotificationsWithSubscribers"]
    assert [(each["Notification"]["NotificationType"], each["Notification"]["Threshold"]) for each in told] == [
        ("ACTUAL", 80),
        ("ACTUAL", 100),
        ("FORECASTED", 100),
    ]
    for each in told:
        assert each["Notification"]["ThresholdType"] == "PERCENTAGE"
        assert [subscriber["Address"] for subscriber in each["Subscribers"]] == ["a@b.example", "c@d.example"]
