"""[network], [cluster], [system_nodes], [gpu_nodes] and [ray]: what the pods run on."""

from typing import Any

import pytest

from tests.synthesis import settings_with
from tests.unit.refusals import check_refusal, refused_fields


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        (
            {"gpu_nodes.instance_type": "g7.huge"},
            'gpu_nodes.instance_type = "g7.huge"',
            "a type with GPUs and EFA, such as g5.8xlarge, ",
            "python -m eks_ray_train.instance_types",
        ),
        (
            {"gpu_nodes.instance_type": "g6.4xlarge"},
            'gpu_nodes.instance_type = "g6.4xlarge"',
            "a size of g6 that has EFA: g6.8xlarge, g6.12xlarge, g6.16xlarge, g6.24xlarge, g6.48xlarge. Sizes without "
            "EFA are left out, for nodes that train together need it",
            "choose one of these",
        ),
        ({"system_nodes.instance_type": "m5.xlarge"}, '"m5.xlarge"', "without GPUs: m7i.xlarge, m7i.2", "m7i.xlarge"),
        (
            {"gpu_nodes.ami_release": "1.36.1-20261399"},
            'gpu_nodes.ami_release = "1.36.1-20261399"',
            "there is no day 20261399",
            "Pin the EKS AMI release, such as 1.36.",
        ),
        ({"system_nodes.ami_release": "1.36.1"}, 'system_nodes.ami_release = "1.36.1"', "matches", "Pin the EKS AMI"),
        (
            {"gpu_nodes.parallel_pull": True, "gpu_nodes.ami_release": "1.35.5-20260505"},
            'gpu_nodes.ami_release = "1.35.5-20260505"',
            "one of 20260610 or newer with parallel_pull = true",
            "set parallel_pull = false",
        ),
        ({"ray.worker": {"cpu": 0}}, "ray.worker.cpu = 0", "greater than or equal to 1", "whole CPU cores"),
        (
            {"gpu_nodes.instance_type": "m7i.xlarge"},
            '"m7i.xlarge"',
            "a type with GPUs and EFA, such as",
            "instance_types",
        ),
        ({"system_nodes.instance_type": "g6.12xlarge"}, '"g6.12xlarge"', "without GPUs", "m7i.xlarge"),
        ({"gpu_nodes.disk_gib": 20}, "gpu_nodes.disk_gib = 20", "greater than or equal to 200", "DiskPressure"),
        ({"network.availability_zones": ["us-east-2a"]}, "availability_zones", "at least 2 items", "two to six"),
        (
            {"network.availability_zones": ["us-east-2a", "us-east-2a"]},
            "network.availability_zones",
            "each zone once",
            "two to six zones",
        ),
        (
            {"network.availability_zones": ["us-east-2a", "us-west-2b"]},
            'network.availability_zones = ["us-east-2a", "us-west-2b"]',
            "zones of region us-east-2, and not us-west-2b",
            "begin with us-east-2, such as us-east-2a and us-east-2b, or change region",
        ),
        ({"network.nat_gateways": 4}, "network.nat_gateways = 4", "at most one per zone", "set nat_gateways = 3, or 1"),
        ({"network.vpc_cidr": "10.0.0.1/16"}, '"10.0.0.1/16"', "no host bits set", "private IPv4 network"),
        (
            {"cluster.public_endpoint_cidrs": ["0.0.0.0/0"]},
            "cluster.public_endpoint_cidrs",
            "0.0.0.0/0 opens the API to the internet",
            "your office's address",
        ),
        (
            {"cluster.public_endpoint_cidrs": ["203.0.113.0/24"]},
            "cluster.public_endpoint_cidrs",
            "203.0.113.0/24 is reserved for documentation",
            "your office's address",
        ),
        ({"network.vpc_cidr": "8.8.0.0/16"}, '"8.8.0.0/16"', "a private network of /16", "private IPv4 network"),
        ({"network.vpc_cidr": "10.0.0.0/8"}, '"10.0.0.0/8"', "a private network of /16", "private IPv4 network"),
        (
            {"network.vpc_cidr": "10.0.64.0/18"},
            'network.vpc_cidr = "10.0.64.0/18"',
            "/17 or larger (a smaller number) for 3 zones",
            'set vpc_cidr = "10.0.0.0/16"',
        ),
        (
            {"cluster.public_endpoint_cidrs": ["10.0.0.0/8"]},
            "cluster.public_endpoint_cidrs",
            "10.0.0.0/8 is private",
            "your office's address",
        ),
        ({"gpu_nodes.count": 65}, "gpu_nodes.count = 65", "less than or equal to 64", "1 to 64"),
        (
            {"ray.transport": {"NCCL_DEBUG": "INFO"}},
            "ray.transport",
            "also FI_PROVIDER, NCCL_NET_PLUGIN, NCCL_SOCKET_IFNAME",
            'add FI_PROVIDER = "efa", NCCL_NET_PLUGIN = "ofi", NCCL_SOCKET_IFNAME = "eth0"',
        ),
        ({"cluster.kubernetes_version": 1.36}, "cluster.kubernetes_version = 1.36", "text, in quotes", "in quotes"),
        ({"cluster.admin_principals": ["me"]}, "cluster.admin_principals.0", "arn:aws", "full IAM role"),
        (
            {"ray.transport": {"PATH": "/"}},
            "ray.transport.PATH is no such name",
            "a name that is text that matches",
            "remove it. Give",
        ),
        ({"ray.image": "train image"}, "ray.image", "text that matches", "with a tag or a digest"),
    ],
)
def test_bad_values(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)


def test_all_that_does_not_go_together_in_a_section_is_listed_at_once() -> None:
    assert refused_fields({"network.nat_gateways": 4, "network.vpc_cidr": "10.0.0.0/20"}) == [
        "network.vpc_cidr",
        "network.nat_gateways",
    ]


@pytest.mark.parametrize("release", ["1.35.4-20260423", "1.36.0-20260610", "1.36.1-20261110", None])
def test_ami_releases_that_pull_in_parallel(release: str | None) -> None:
    changes = {"gpu_nodes.ami_release": release} if release else {}
    assert settings_with({"gpu_nodes.parallel_pull": True, **changes}).gpu_nodes.parallel_pull


def test_a_broken_ami_release_without_parallel_pull() -> None:
    nodes = settings_with({"gpu_nodes.parallel_pull": False, "gpu_nodes.ami_release": "1.35.5-20260505"}).gpu_nodes
    assert nodes.ami_release == "1.35.5-20260505"
