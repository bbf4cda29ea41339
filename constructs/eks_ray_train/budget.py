"""A monthly budget, which mails before the bill is a surprise."""

from collections.abc import Sequence

from aws_cdk import aws_budgets as budgets
from constructs import Construct

# Which cost, and above how many per cent of the budget somebody is told.
_TOLD_ABOVE = (("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100))


class MonthlyBudget(Construct):
    """Mails ``emails`` when the account's cost of a month passes 80 and 100 % of ``usd``, or is foreseen to pass it.

    Of the whole account: AWS tells costs apart by tags only where somebody has activated these for billing, and a
    budget on tags that nobody has activated never says a word.
    """

    def __init__(self, scope: Construct, id: str, *, usd: int, emails: Sequence[str]) -> None:
        super().__init__(scope, id)
        subscribers = [
            budgets.CfnBudget.SubscriberProperty(address=email, subscription_type="EMAIL") for email in emails
        ]
        budgets.CfnBudget(
            self,
            "Resource",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=usd, unit="USD"),
            ),
            notifications_with_subscribers=[
                budgets.CfnBudget.NotificationWithSubscribersProperty(
                    notification=budgets.CfnBudget.NotificationProperty(
                        notification_type=kind,
                        comparison_operator="GREATER_THAN",
                        threshold=per_cent,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=subscribers,
                )
                for kind, per_cent in _TOLD_ABOVE
            ],
        )


def optional_budget(scope: Construct, id: str, *, usd: int | None, emails: Sequence[str]) -> MonthlyBudget | None:
    """A budget, where there is one."""
    return None if usd is None else MonthlyBudget(scope, id, usd=usd, emails=emails)
