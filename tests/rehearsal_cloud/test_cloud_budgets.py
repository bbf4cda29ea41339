"""Budgets, as CloudFormation makes and changes them."""

from typing import Any

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import Resources, Stacks


def _budget(usd: int, email: str = "a@b.example") -> Resources:
    told = {"NotificationType": "ACTUAL", "ComparisonOperator": "GREATER_THAN", "Threshold": 80}
    return {
        "Budget": {
            "Type": "AWS::Budgets::Budget",
            "Properties": {
                "Budget": {
                    "BudgetType": "COST",
                    "TimeUnit": "MONTHLY",
                    "BudgetLimit": {"Amount": usd, "Unit": "USD"},
                },
                "NotificationsWithSubscribers": [
                    {"Notification": told, "Subscribers": [{"SubscriptionType": "EMAIL", "Address": email}]}
                ],
            },
        }
    }


def test_a_budget_is_made_changed_replaced_and_deleted(cloud: Cloud, stacks: Stacks) -> None:
    budgets, account = cloud.account.client("budgets"), cloud.account.id

    def found() -> list[Any]:
        return [
            (budget["BudgetName"], float(budget["BudgetLimit"]["Amount"]))
            for budget in budgets.describe_budgets(AccountId=account)["Budgets"]
        ]

    stacks.create("budget", _budget(500))
    ((name, amount),) = found()
    assert amount == 500
    (told,) = budgets.describe_notifications_for_budget(AccountId=account, BudgetName=name)["Notifications"]
    assert (told["NotificationType"], told["Threshold"]) == ("ACTUAL", 80)
    stacks.update("budget", _budget(600))
    assert found() == [(name, 600)]
    stacks.update("budget", _budget(600, "c@d.example"))
    ((another, _),) = found()
    assert another != name
    stacks.delete("budget")
    assert found() == []
