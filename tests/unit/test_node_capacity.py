"""The kubelet's reservation formula, against nodes whose `kubectl describe node` was published."""

import dataclasses
import gzip
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import pytest

from eks_ray_train.checks.node_capacity import Amounts, allocatable, max_pods, schedulable_pods
from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType

M7I, G6 = INSTANCE_TYPES["m7i.xlarge"], INSTANCE_TYPES["g6.12xlarge"]
# The largest share of a published node's memory that the formula leaves unused; it never promises more than there is.
MEMORY_ERROR = 0.052


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a node said of itself: allocatable CPU in thousandths, memory in KiB, pods; and who published it."""

    type: str
    efa: int
    cpu_m: int
    memory_kib: int
    pods: int
    managed: bool
    source: str


NODES = (
    Published(
        type="m5.xlarge",
        efa=0,
        cpu_m=3_920,
        memory_kib=14_880_156,
        pods=58,
        managed=True,
        source="aerospike/aerospike-vector, report of an EKS 1.30 cluster in us-east-1",
    ),
    Published(
        type="g5.2xlarge",
        efa=0,
        cpu_m=7_910,
        memory_kib=31_482_328,
        pods=58,
        managed=False,
        source="awslabs/data-on-eks, GPU time-slicing with JupyterHub (Karpenter)",
    ),
    Published(
        type="p3dn.24xlarge",
        efa=1,
        cpu_m=95_690,
        memory_kib=753_772_012,
        pods=250,
        managed=True,
        source="converged-computing performance study, August 2024; 21,122 MiB of huge pages set aside",
    ),
    Published(
        type="p4de.24xlarge",
        efa=4,
        cpu_m=95_690,
        memory_kib=1_146_004_920,
        pods=250,
        managed=True,
        source="awsankur/awesome-networking and awsome-distributed-training; 21,122 MiB of huge pages set aside",
    ),
    Published(
        type="p4d.24xlarge",
        efa=0,
        cpu_m=95_690,
        memory_kib=1_167_634_920,
        pods=737,
        managed=False,
        source="AL2023.9.20251208, kubelet 1.34.2, ap-northeast-2, 2025-12-18 (Karpenter, no EFA interfaces)",
    ),
    Published(
        type="g6.12xlarge",
        efa=0,
        cpu_m=47_810,
        memory_kib=187_596_052,
        pods=234,
        managed=False,
        source="Karpenter's record of such a node, ap-northeast-2, 2025-12-19",
    ),
)


@cache
def _ec2() -> dict[str, Any]:
    """EC2's DescribeInstanceTypes, as moto ships it."""
    packed = resources.files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return found


def _instance(published: Published) -> InstanceType:
    ec2 = _ec2()[published.type]
    return dataclasses.replace(
        M7I,
        name=published.type,
        vcpus=ec2["VCpuInfo"]["DefaultVCpus"],
        memory_mib=ec2["MemoryInfo"]["SizeInMiB"],
        efa_interfaces=published.efa,
        max_network_interfaces=ec2["NetworkInfo"]["NetworkCards"][0]["MaximumNetworkInterfaces"],
        ipv4_per_interface=ec2["NetworkInfo"]["Ipv4AddressesPerInterface"],
    )


@pytest.mark.parametrize("published", NODES, ids=lambda node: node.type)
def test_published_nodes(published: Published) -> None:
    instance = _instance(published)
    computed = allocatable(instance)
    assert computed.cpu_m == published.cpu_m
    pods = schedulable_pods(instance) if published.managed else max_pods(instance)
    assert pods == published.pods
    there = published.memory_kib / 1024
    assert -MEMORY_ERROR <= (computed.memory_mib - there) / there <= 0


def test_the_bound_is_not_looser_than_it_has_to_be() -> None:
    errors = [1 - allocatable(_instance(published)).memory_mib / (published.memory_kib / 1024) for published in NODES]
    assert MEMORY_ERROR - 0.005 < max(errors) <= MEMORY_ERROR


def test_max_pods() -> None:
    assert (max_pods(M7I), max_pods(G6)) == (58, 234)
    p4d = INSTANCE_TYPES["p4d.24xlarge"]
    assert (max_pods(p4d), schedulable_pods(p4d)) == (737, 250)


def test_allocatable_of_the_system_node() -> None:
    assert allocatable(M7I) == Amounts(cpu_m=3920, memory_mib=14_162, pods=58)


def test_allocatable_of_the_gpu_node_allows_for_huge_pages() -> None:
    assert allocatable(G6) == Amounts(cpu_m=47_810, memory_mib=178_933 - 48 * 220, gpus=4, efa_interfaces=1, pods=234)
