"""[network]"""

import ipaddress
import math
from collections.abc import Iterator

from pydantic import Field, field_validator

from environments.refusals import Misfit
from environments.sections.cidr import Cidr
from environments.sections.section import Section, Zone


class Network(Section):
    """The VPC."""

    availability_zones: tuple[Zone, ...] = Field(
        min_length=2,
        max_length=6,
        description="List two to six zones of the region, for EKS wants its control plane in two.",
    )
    vpc_cidr: Cidr = Field(description="Give the VPC a private IPv4 network, a /16 unless it must be smaller.")
    nat_gateways: int = Field(
        ge=1, description="Give 1 (cheapest), or one per zone so that a zone's failure cuts off no other."
    )

    @field_validator("availability_zones")
    @classmethod
    def _distinct(cls, zones: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(zones)) != len(zones):
            raise ValueError("each zone once")
        return zones

    @field_validator("vpc_cidr")
    @classmethod
    def _private(cls, cidr: str) -> str:
        network = ipaddress.IPv4Network(cidr)
        if not network.is_private or network.prefixlen < 16:
            raise ValueError("a private network of /16 or smaller, such as 10.0.0.0/16")
        return cidr

    def _misfits(self) -> Iterator[Misfit]:
        zones = len(self.availability_zones)
        # A /19 of private addresses for each zone, and one /19 that holds the public /24s.
        smallest = 19 - math.ceil(math.log2(zones + 1))
        vpc = ipaddress.IPv4Network(self.vpc_cidr)
        if vpc.prefixlen > smallest:
            yield Misfit(
                field="network.vpc_cidr",
                value=self.vpc_cidr,
                expected=f"/{smallest} or larger (a smaller number) for {zones} zones: each has a private /19",
                remedy=f'set vpc_cidr = "{vpc.supernet(new_prefix=16)}"',
            )
        if self.nat_gateways > zones:
            yield Misfit(
                field="network.nat_gateways",
                value=self.nat_gateways,
                expected=f"at most one per zone, and network.availability_zones lists {zones}",
                remedy=f"set nat_gateways = {zones}, or 1, which is cheapest",
            )
