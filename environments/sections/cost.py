"""[cost]"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from environments.refusals import Misfit
from environments.sections.section import Section

# Between a deploy's sign of life and the job's own nothing writes: the fabric check takes up to 13 minutes, KubeRay
# gives the job 25 to begin, and the job its workers 15.
IDLE_MINUTES_LEAST = 60
# What AWS Budgets lets a notification have.
EMAILS_MOST = 10

Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]


class Cost(Section):
    """When the GPU nodes cease to bill, and who is told of a bill that grows, or of nodes that cannot be parked."""

    idle_minutes: int | None = Field(
        default=None,
        ge=IDLE_MINUTES_LEAST,
        le=1440,
        description=f"Give the minutes, {IDLE_MINUTES_LEAST} to 1440, after which GPU nodes that nobody trains on are "
        "scaled to zero, until the next job; or leave it out to have them stay.",
    )
    monthly_budget_usd: int | None = Field(
        default=None,
        ge=1,
        description="Give the US dollars a month, of the whole account, near which cost.notify gets mails; or leave "
        "it out.",
    )
    notify: tuple[Email, ...] = Field(
        default=(),
        max_length=EMAILS_MOST,
        description=f"List up to {EMAILS_MOST} e-mail addresses: for cost.monthly_budget_usd, and for when idle nodes "
        "cannot be scaled to zero.",
    )

    def _misfits(self) -> Iterator[Misfit]:
        if self.notify and self.monthly_budget_usd is None and self.idle_minutes is None:
            yield Misfit(
                field="cost.notify",
                value=self.notify,
                expected="none without cost.monthly_budget_usd and cost.idle_minutes, of which it is told",
                remedy="remove it, or set one of these, such as idle_minutes = 60",
            )
        if self.monthly_budget_usd is not None and not self.notify:
            yield Misfit(
                field="cost.notify",
                value=None,
                expected="an address with cost.monthly_budget_usd, which stops nothing: it sends mails",
                remedy='give one, such as notify = ["team@example.com"], or remove monthly_budget_usd',
            )
