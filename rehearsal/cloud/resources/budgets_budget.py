"""AWS::Budgets::Budget."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored


class Budget(ResourceType):
    """A budget of the account; nothing is ever spent here, so its mails are not sent."""

    type = "AWS::Budgets::Budget"
    properties = frozenset({"Budget", "NotificationsWithSubscribers"})
    harmless = ignored(ResourceTags="nothing reads them")
    replaced_by = frozenset({"NotificationsWithSubscribers"})
    updated_by = frozenset({"Budget", "ResourceTags"})

    def create(self, request: Request) -> Made:
        """Create it with its notifications."""
        name = request.name("BudgetName", 100)
        self._create(name, request.properties)
        return Made(name)

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change it: moto has no call for that, so there is another one of the name."""
        self.delete(made.physical_id, request)
        self._create(made.physical_id, request.properties)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("budgets").delete_budget(AccountId=self.account.id, BudgetName=physical_id)

    def _create(self, name: str, wanted: dict[str, Any]) -> None:
        budget = dict(wanted["Budget"])
        limit = budget.pop("BudgetLimit")
        self.account.client("budgets").create_budget(
            AccountId=self.account.id,
            Budget={**budget, "BudgetName": name, "BudgetLimit": {**limit, "Amount": str(limit["Amount"])}},
            NotificationsWithSubscribers=[
                {
                    **each,
                    "Notification": {**each["Notification"], "Threshold": float(each["Notification"]["Threshold"])},
                }
                for each in wanted.get("NotificationsWithSubscribers", [])
            ],
        )
