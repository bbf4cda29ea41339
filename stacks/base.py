"""What every stack of an environment has in common."""

import aws_cdk as cdk
from constructs import Construct

from environments.settings import Settings


class EnvironmentStack(cdk.Stack):
    """A stack named ``<project>-<environment>-<id>``, in the environment's account and region.

    The Availability Zones are the settings': CDK would look them up in the account, and synthesis needs none.
    """

    def __init__(self, scope: Construct, id: str, *, settings: Settings, description: str) -> None:
        self._zones = list(settings.network.availability_zones)
        super().__init__(
            scope,
            id,
            stack_name=f"{settings.cluster_name}-{id}",
            description=description,
            env=cdk.Environment(account=settings.account, region=settings.region),
            termination_protection=settings.termination_protection,
        )

    @property
    def availability_zones(self) -> list[str]:
        """The environment's zones."""
        return self._zones
