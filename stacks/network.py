"""Network: the VPC."""

from constructs import Construct

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
        self.vpc = network.vpc
        self.private_subnet_by_zone = network.private_subnet_by_zone
