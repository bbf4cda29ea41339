"""The table against EC2's own answers."""

import re
from datetime import date

import pytest

from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.versions import IMAGES, version_tuple
from tests.unit.instance_types.ec2 import DESCRIBED, GPU_TYPES, described, efa_types, network

# Types of the table that moto's copy does not hold, and that nothing is compared with.
UNDESCRIBED: set[str] = set()
FAMILIES = ("g5", "g6", "g6e", "gr6", "g7e", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300")


def test_every_type_is_compared() -> None:
    assert INSTANCE_TYPES.keys() - DESCRIBED.keys() == UNDESCRIBED


@pytest.mark.parametrize("family", FAMILIES)
def test_no_size_with_efa_is_missing(family: str) -> None:
    expected = efa_types(family)
    assert expected
    assert {name for name in GPU_TYPES if name.partition(".")[0] == family} == set(expected)


def test_no_other_family_has_gpus() -> None:
    assert {INSTANCE_TYPES[name].family for name in GPU_TYPES} == set(FAMILIES)


@pytest.mark.parametrize("name", [name for name in INSTANCE_TYPES if name not in UNDESCRIBED])
def test_figures_are_ec2s(name: str) -> None:
    row, answer = INSTANCE_TYPES[name], described(name)
    assert row.vcpus == answer["VCpuInfo"]["DefaultVCpus"]
    assert row.memory_mib == answer["MemoryInfo"]["SizeInMiB"]
    assert "x86_64" in answer["ProcessorInfo"]["SupportedArchitectures"]  # of both AMI types
    assert row.network_cards == network(name)["MaximumNetworkCards"] == len(network(name)["NetworkCards"])
    assert row.efa_interfaces == network(name).get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert row.max_network_interfaces == network(name)["NetworkCards"][0]["MaximumNetworkInterfaces"]
    assert row.ipv4_per_interface == network(name)["Ipv4AddressesPerInterface"]
    disks = answer.get("InstanceStorageInfo", {}).get("Disks", [])
    assert [(disk["Count"], disk["SizeInGB"]) for disk in disks] == (
        [(row.nvme_disks, row.nvme_gb)] if row.nvme_disks else []
    )
    assert all(disk["Type"] == "ssd" for disk in disks)
    assert row.capacity_block == ("capacity-block" in answer["SupportedUsageClasses"])


@pytest.mark.parametrize("name", GPU_TYPES)
def test_what_leaves_the_node_is_ec2s(name: str) -> None:
    # "40 Gigabit", "4x 100 Gigabit". The cards' own figures are no sum: a g6e.24xlarge has 200 on each of two, and 200.
    stated = re.fullmatch(r"(?:(\d+)x )?(\d+) Gigabit", network(name)["NetworkPerformance"])
    assert stated
    assert INSTANCE_TYPES[name].network_gbps == int(stated[1] or 1) * int(stated[2])


def test_only_p_types_have_nvlink() -> None:
    assert {row.family for row in INSTANCE_TYPES.values() if row.nvlink} == {
        INSTANCE_TYPES[name].family for name in GPU_TYPES if name.startswith("p")
    }


@pytest.mark.parametrize("name", [name for name in INSTANCE_TYPES if name not in UNDESCRIBED])
def test_gpus_are_ec2s(name: str) -> None:
    row = INSTANCE_TYPES[name]
    found = [
        (gpu["Manufacturer"], gpu["Name"], gpu["Count"], gpu["MemoryInfo"]["SizeInMiB"])
        for gpu in described(name).get("GpuInfo", {}).get("Gpus", [])
    ]
    assert found == ([("NVIDIA", row.gpu.name, row.gpus, row.gpu.memory_mib)] if row.gpu else [])
    assert bool(row.gpus) == bool(row.gpu)


def test_peaks_are_per_gpu_in_flops() -> None:
    peaks = {row.gpu.name: row.gpu.bf16_flops for row in INSTANCE_TYPES.values() if row.gpu}
    assert peaks == {
        "A10G": 70e12,
        "L4": 121e12,
        "L40S": 362e12,
        "RTX PRO Server 6000": None,
        "A100": 312e12,
        "H100": 989e12,
        "H200": 989e12,
        "B200": 2250e12,
        "B300": None,
    }


def test_the_images_cuda_knows_every_gpu() -> None:
    known = min(version_tuple(contents.cuda) for contents in IMAGES.values())
    for row in INSTANCE_TYPES.values():
        assert row.gpu is None or version_tuple(row.gpu.minimum_cuda) <= known, row.name


def test_only_the_g5s_devices_cannot_read_remote_memory() -> None:
    # EC2 user guide, "Elastic Fabric Adapter": RDMA read with Nitro 4 and later, and on the p4d and p4de.
    assert {INSTANCE_TYPES[name].family for name in GPU_TYPES if not INSTANCE_TYPES[name].rdma_read} == {"g5"}
    # What reaches the GPUs' memory reads remote memory at all.
    assert all(row.rdma_read for row in INSTANCE_TYPES.values() if row.gpudirect_rdma)


def test_gpudirect_rdma_is_what_the_plugin_demands() -> None:
    without = {name for name in GPU_TYPES if not INSTANCE_TYPES[name].gpudirect_rdma}
    assert {INSTANCE_TYPES[name].family for name in without} == {"g5", "g6", "g6e", "gr6", "g7e", "p5"}
    assert {name for name in without if name[:2] in ("g7", "p5")} == {"g7e.8xlarge", "p5.4xlarge"}


@pytest.mark.failure_mode("C17")
def test_quotas() -> None:
    for name, row in INSTANCE_TYPES.items():
        expected = {"g": "L-DB2E81BA", "p": "L-417A185B"}.get(name[0], "L-1216C47A")
        assert row.quota_code == expected, name
        assert any(name.startswith(family) for family in row.quota_families)


def test_a_price_has_a_date_and_a_region_and_one_is_unknown() -> None:
    assert [name for name, row in INSTANCE_TYPES.items() if row.usd_per_hour is None] == ["p5e.48xlarge"]
    g6 = INSTANCE_TYPES["g6.12xlarge"]
    assert (g6.usd_per_hour, g6.price_date, g6.price_region) == (4.6016, date(2026, 7, 20), "us-east-1")


def test_a_larger_size_of_a_family_costs_more_where_it_has_more_gpus() -> None:
    """A slip of a digit in a price shows here."""
    for name in GPU_TYPES:
        row = INSTANCE_TYPES[name]
        for other in (INSTANCE_TYPES[other] for other in GPU_TYPES):
            if other.family == row.family and other.gpus > row.gpus and row.usd_per_hour and other.usd_per_hour:
                assert other.usd_per_hour > row.usd_per_hour, (name, other.name)


def test_what_is_not_verified_says_so() -> None:
    for row in INSTANCE_TYPES.values():
        assert any("device index" in note for note in row.unverified) == (row.network_cards > 1), row.name
        if row.gpu and row.gpu.bf16_flops is None:
            assert "no source was read for the bf16 peak" in row.unverified
