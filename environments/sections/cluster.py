"""[cluster]"""

import ipaddress
from typing import Annotated

from pydantic import Field, field_validator

from environments.sections.cidr import Cidr
from environments.sections.section import Section

_DOCUMENTATION_NETWORKS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")


class Cluster(Section):
    """The EKS control plane and who may reach it."""

    kubernetes_version: str = Field(
        pattern=r"^1\.\d{2}$", description="Write the EKS version, such as 1.36, in quotes."
    )
    admin_principals: tuple[
        Annotated[str, Field(pattern=r"^arn:aws[\w-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+$")], ...
    ] = Field(
        description="List full IAM role or user ARNs (an SSO role with its path) that get cluster-admin besides "
        "the admin role that the stack makes, such as arn:aws:iam::111122223333:role/ml-team; an empty list adds none."
    )
    public_endpoint_cidrs: tuple[Cidr, ...] = Field(
        description="List the networks that may reach the Kubernetes API from outside, such as your office's address "
        "with /32; with an empty list it is private, and kubectl works only from inside the VPC."
    )

    @field_validator("public_endpoint_cidrs")
    @classmethod
    def _restricted(cls, cidrs: tuple[str, ...]) -> tuple[str, ...]:
        for cidr in cidrs:
            network = ipaddress.IPv4Network(cidr)
            if network.prefixlen < 8:
                raise ValueError(f"networks of /8 or narrower: {cidr} opens the API to the internet")
            if any(network.overlaps(ipaddress.IPv4Network(example)) for example in _DOCUMENTATION_NETWORKS):
                raise ValueError(f"networks of your own: {cidr} is reserved for documentation")
            if not network.is_global:
                raise ValueError(f"addresses as the internet sees them: {cidr} is private")
        return cidrs
