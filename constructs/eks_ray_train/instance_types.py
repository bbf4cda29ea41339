"""What EC2 gives with each instance type: the only place where such a figure is written down.

Sources: EC2's DescribeInstanceTypes for vCPUs, memory, GPUs and interfaces; the EC2 On-Demand price list of US East for
prices; the Service Quotas console for quota codes. GPU counts, EFA interfaces, pod requests and quota needs all derive
from here and never come from a user.
"""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One EC2 instance type.

    Memory is in MiB as EC2 states it, the price in US dollars per hour on demand in us-east-2, at ``price_date``.
    ``max_network_interfaces`` and ``ipv4_per_interface`` belong to network card 0 and set the node's limit of pods.
    ``quota_code`` names the Service Quotas limit, in vCPUs, on running On-Demand instances of its family, and
    ``quota_families`` the prefixes of the instance types that count against it.
    """

    name: str
    vcpus: int
    memory_mib: int
    gpus: int
    efa_interfaces: int
    max_network_interfaces: int
    ipv4_per_interface: int
    quota_code: str
    quota_families: tuple[str, ...]
    usd_per_hour: float
    price_date: date


_ROWS = (
    InstanceType(
        name="g6.12xlarge",
        vcpus=48,
        memory_mib=196_608,
        gpus=4,
        efa_interfaces=1,
        max_network_interfaces=8,
        ipv4_per_interface=30,
        quota_code="L-DB2E81BA",
        quota_families=("g", "vt"),
        usd_per_hour=4.6016,
        price_date=date(2026, 7, 20),
    ),
    InstanceType(
        name="m7i.xlarge",
        vcpus=4,
        memory_mib=16_384,
        gpus=0,
        efa_interfaces=0,
        max_network_interfaces=4,
        ipv4_per_interface=15,
        quota_code="L-1216C47A",
        quota_families=("a", "c", "d", "h", "i", "m", "r", "t", "z"),
        usd_per_hour=0.2016,
        price_date=date(2026, 7, 20),
    ),
)

INSTANCE_TYPES = {row.name: row for row in _ROWS}
