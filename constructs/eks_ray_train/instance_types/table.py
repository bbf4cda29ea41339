"""Reads table.toml, the only place where a figure of an instance type is written down."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from eks_ray_train.instance_types.model import Gpu, InstanceType

_DEVICE_INDEX = (
    "the device index of the EFA interfaces on network cards 1 and up is {used} here, and {other} in other sources"
)


def read_table() -> dict[str, InstanceType]:
    """The instance types by name: families in the table's order, their sizes by vCPUs."""
    table = tomllib.loads(resources.files(__package__).joinpath("table.toml").read_text())
    return {row.name: row for name, family in table["families"].items() for row in _rows(name, family, table)}


def _rows(name: str, family: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[InstanceType]:
    quota, prices = table["quotas"][family["quota"]], table["prices"]
    for size, figures in sorted(family["sizes"].items(), key=lambda item: int(item[1]["vcpus"])):
        efa = figures.get("efa", 0)
        cards = figures.get("network_cards", max(efa, 1))
        disks, gb = figures.get("nvme", (0, 0))
        device = family.get("efa_device_index", 0)
        unverified = [*family.get("unverified", ()), *figures.get("unverified", ())]
        if cards > 1:
            unverified.append(_DEVICE_INDEX.format(used=device, other=1 - device))
        yield InstanceType(
            name=f"{name}.{size}",
            vcpus=figures["vcpus"],
            memory_mib=figures["memory_gib"] * 1024,
            gpus=figures.get("gpus", 0),
            gpu=_gpu(table["gpus"][family["gpu"]]) if "gpu" in family else None,
            network_cards=cards,
            efa_interfaces=efa,
            network_gbps=figures.get("gbps"),
            nvlink=family.get("nvlink", False) and figures["gpus"] > 1,
            card_0=family.get("card_0", "efa" if efa else "interface"),
            efa_device_index=device,
            rdma_read=family.get("rdma_read", False),
            gpudirect_rdma=figures.get("gpudirect_rdma", family.get("gpudirect_rdma", False)),
            max_network_interfaces=figures["enis"],
            ipv4_per_interface=figures["ipv4"],
            nvme_disks=disks,
            nvme_gb=gb,
            quota_code=quota["code"],
            quota_families=tuple(quota["families"]),
            capacity_block=family.get("capacity_block", False),
            usd_per_hour=figures.get("usd"),
            price_date=prices["date"],
            price_region=prices["region"],
            nccl=family.get("nccl", {}),
            unverified=tuple(unverified),
        )


def _gpu(figures: Mapping[str, Any]) -> Gpu:
    tera = figures.get("bf16_tflops")
    return Gpu(
        name=figures["name"],
        memory_mib=figures["memory_mib"],
        bf16_flops=None if tera is None else tera * 1e12,
        minimum_cuda=figures["minimum_cuda"],
    )
