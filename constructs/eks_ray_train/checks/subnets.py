"""Addresses: pods have addresses of the subnet, and all GPU nodes are in one.

Source: the VPC CNI's documentation. With its defaults a node holds the addresses of its first interface and of one
more that waits in reserve, each filled.
"""

import ipaddress
import math
from collections.abc import Iterator
from typing import Any

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule
from environments.settings import Settings

_INTERFACES_OF_THE_CNI = 2
# Five of every subnet are AWS's own; EKS recommends 16 for its control plane, and the Lambdas take a few.
_OTHERS = 5 + 16 + 8


@rule("subnet-room", "each private subnet has an address for every node, interface and pod", phase=Phase.TEMPLATES)
def subnets_have_room(subject: Subject) -> Iterator[Problem]:
    """All GPU nodes may land in any one subnet, beside all system nodes."""
    needed = addresses_needed(subject.settings, interfaces_with_addresses(subject))
    private = [
        ipaddress.IPv4Network(properties["CidrBlock"])
        for _, _, properties in subject.resources("AWS::EC2::Subnet")
        if properties.get("MapPublicIpOnLaunch") is False and "CidrBlock" in properties
    ]
    smallest = min(private, key=lambda network: network.num_addresses, default=None)
    if smallest is not None and smallest.num_addresses < needed:
        gpu, system = subject.settings.gpu_nodes, subject.settings.system_nodes
        yield Problem(
            field="Network: private subnets",
            value=f"{smallest.num_addresses:,} addresses in {smallest}",
            expected=f"at least {needed:,}: {gpu.count} x {gpu.instance_type} (gpu_nodes) and {system.count} x "
            f"{system.instance_type} (system_nodes), with what the VPC CNI keeps for pods, and EKS's and AWS's own",
            remedy="lower gpu_nodes.count or system_nodes.count; for so many nodes, lower cidr_mask of the private "
            f"subnets in constructs/eks_ray_train/network.py to {32 - math.ceil(math.log2(needed))} or less, and give "
            "network.vpc_cidr room for them",
        )


def interfaces_with_addresses(subject: Subject) -> int:
    """Of the interfaces that a GPU node starts with, those that take an address: ``efa-only`` ones take none."""
    counts = [
        sum(interface.get("InterfaceType") != "efa-only" for interface in _interfaces(properties))
        for stack, _, properties in subject.resources("AWS::EC2::LaunchTemplate")
        if stack == "Gpu"
    ]
    return max(counts, default=1)


def addresses_needed(settings: Settings, interfaces: int) -> int:
    """Addresses that one subnet must have, with ``interfaces`` that take one on each GPU node."""
    gpu, system = settings.gpu_nodes, settings.system_nodes
    per_gpu_node = interfaces - 1 + _INTERFACES_OF_THE_CNI * gpu.instance.ipv4_per_interface
    per_system_node = _INTERFACES_OF_THE_CNI * system.instance.ipv4_per_interface
    return gpu.count * per_gpu_node + system.count * per_system_node + _OTHERS


def _interfaces(properties: Any) -> Any:
    return properties.get("LaunchTemplateData", {}).get("NetworkInterfaces", [])
