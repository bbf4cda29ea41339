"""What is known of one instance type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

InterfaceType = Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU: its name and memory as EC2 states them.

    ``bf16_flops`` is the peak of dense matrix products per second, None where no source was read; ``minimum_cuda`` the
    first CUDA toolkit that knows its architecture.
    """

    name: str
    memory_mib: int
    bf16_flops: float | None
    minimum_cuda: str


@dataclass(frozen=True, kw_only=True)
class NetworkInterface:
    """One interface of a launch template: on which network card, at which index there, and of which type."""

    card: int
    device: int
    type: InterfaceType


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One EC2 instance type.

    Memory is in MiB as EC2 states it, NVMe disks in GB each. ``max_network_interfaces`` and ``ipv4_per_interface``
    belong to network card 0 and set the node's limit of pods. ``quota_code`` names the Service Quotas limit, in vCPUs,
    on running On-Demand instances of its family, and ``quota_families`` the prefixes of the instance types that count
    against it; ``capacity_block`` says whether EC2 sells Capacity Blocks of the type. ``rdma_read`` is a property of
    the EFA device, which then reads another node's memory; ``gpudirect_rdma`` says that it reaches the GPUs' too.
    ``network_gbps`` are the gigabits per second out of the whole node as EC2 states them, None where they were not
    written down; ``nvlink`` says that GPUs of one node talk over it.
    ``usd_per_hour`` is the On-Demand price in ``price_region`` at ``price_date``, None where there is none.
    ``nccl`` holds the variables that NCCL needs here and not elsewhere, ``unverified`` what is not
    certain, as clauses.
    """

    name: str
    vcpus: int
    memory_mib: int
    gpus: int
    gpu: Gpu | None
    network_cards: int
    efa_interfaces: int
    network_gbps: int | None
    nvlink: bool
    card_0: Literal["efa", "interface"]
    efa_device_index: int
    rdma_read: bool
    gpudirect_rdma: bool
    max_network_interfaces: int
    ipv4_per_interface: int
    nvme_disks: int
    nvme_gb: int
    quota_code: str
    quota_families: tuple[str, ...]
    capacity_block: bool
    usd_per_hour: float | None
    price_date: date
    price_region: str
    nccl: Mapping[str, str] = field(hash=False)
    unverified: tuple[str, ...]

    @property
    def family(self) -> str:
        """``p5`` of p5.48xlarge."""
        return self.name.partition(".")[0]

    @property
    def network_interfaces(self) -> tuple[NetworkInterface, ...]:
        """What a launch template has to name to get every EFA interface; the first is the node's primary one.

        The primary interface has an IP address, so it is never ``efa-only``; on the other cards an address would be
        wasted (32 of them on a p5). Whether those sit at device index 0 or 1 of their card is not settled:
        terraform-aws-eks and aws-k8s-tester use 1, tried on p4d and p5, and the EC2 user guide and its P6 samples 0.
        """
        primary = NetworkInterface(card=0, device=0, type=self.card_0)
        return (
            primary,
            *(
                NetworkInterface(card=card, device=self.efa_device_index, type="efa-only")
                for card in range(1, self.network_cards)
            ),
        )
