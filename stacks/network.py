"""Network: the VPC, and the budget that is to be there before anything bills."""

from constructs import Construct

from eks_ray_train.budget import optional_budget
from eks_ray_train.network import Network
from environments.settings import Settings
from stacks.base import EnvironmentStack


class NetworkStack(EnvironmentStack):
    """The VPC that everything is in."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings) -> None:
        super().__init__(scope, id, settings=settings, description="VPC, NAT and flow logs of the training cluster")
        network = Network(
            self,
            "Network",
            availability_zones=settings.network.availability_zones,
            cidr=settings.network.vpc_cidr,
            nat_gateways=settings.network.nat_gateways,
        )
        optional_budget(self, "Budget", usd=settings.cost.monthly_budget_usd, emails=settings.cost.notify)
        self.vpc = network.vpc
        self.private_subnet_by_zone = network.private_subnet_by_zone
