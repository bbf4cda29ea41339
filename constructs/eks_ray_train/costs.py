"""What an environment costs per hour while its stacks exist: `python -m eks_ray_train.costs dev`.

Sources, US East: EC2 On-Demand prices are the instance table's; the EKS control plane in standard support and the NAT
gateway are their pricing pages'. The EBS prices are from memory and marked so. Traffic, logs, S3 and tax are left out.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from eks_ray_train.node_disks import GP3_IOPS, GP3_THROUGHPUT_MIB
from environments.loading import SettingsError, load
from environments.settings import Settings

CONTROL_PLANE_USD = 0.10
NAT_GATEWAY_USD = 0.045

_HOURS_PER_MONTH = 730
_GP3_GIB_MONTH_USD = 0.08
_GP3_IOPS_MONTH_USD = 0.005  # above 3,000
_GP3_MIB_MONTH_USD = 0.04  # above 125 MiB/s


@dataclass(frozen=True)
class Part:
    """One line of the bill; ``usd_per_hour`` is None where the instance table has no price."""

    name: str
    quantity: int
    usd_per_hour: float | None

    @property
    def total(self) -> float | None:
        """US dollars per hour of all of them."""
        return None if self.usd_per_hour is None else self.quantity * self.usd_per_hour


def hourly(settings: Settings) -> list[Part]:
    """The parts that are billed by the hour."""
    gpu, system = settings.gpu_nodes, settings.system_nodes
    return [
        Part(gpu.instance_type, gpu.count, gpu.instance.usd_per_hour),
        Part(system.instance_type, system.count, system.instance.usd_per_hour),
        Part("EKS control plane", 1, CONTROL_PLANE_USD),
        Part("NAT gateway", settings.network.nat_gateways, NAT_GATEWAY_USD),
    ]


def known_total(parts: Sequence[Part]) -> tuple[float, list[str]]:
    """US dollars per hour of the parts whose price is known, and the names of the others."""
    known = [part.total for part in parts if part.total is not None]
    return sum(known), [part.name for part in parts if part.total is None]


def disks(settings: Settings) -> float:
    """US dollars per hour of the nodes' gp3 volumes, from prices that were not read at a source."""
    nodes = settings.gpu_nodes.count + settings.system_nodes.count
    gib = (
        settings.gpu_nodes.count * settings.gpu_nodes.disk_gib
        + settings.system_nodes.count * settings.system_nodes.disk_gib
    )
    performance = (GP3_IOPS - 3000) * _GP3_IOPS_MONTH_USD + (GP3_THROUGHPUT_MIB - 125) * _GP3_MIB_MONTH_USD
    return (gib * _GP3_GIB_MONTH_USD + nodes * performance) / _HOURS_PER_MONTH


def main(environment: str) -> None:
    """Prints the table."""
    try:
        settings = load(environment)
    except SettingsError as error:
        sys.exit(f"\n{error}\n")
    parts = hourly(settings)
    total, unknown = known_total(parts)
    table = Table(title=f"{settings.cluster_name}: US dollars per hour", show_footer=True)
    table.add_column("part", footer="sum")
    table.add_column("count", justify="right")
    table.add_column("each", justify="right")
    table.add_column("per hour", justify="right", footer=f"{'more than ' if unknown else ''}{total:.4f}")
    for part in parts:
        table.add_row(part.name, str(part.quantity), _dollars(part.usd_per_hour), _dollars(part.total))
    console = Console()
    console.print(table)
    console.print(f"The nodes' disks add about {disks(settings):.2f} (gp3 list prices, not read at a source).")
    prices = settings.gpu_nodes.instance
    console.print(f"EC2 prices of {prices.price_region}, {prices.price_date}; traffic, logs, S3 and tax are not in it.")
    if unknown:
        console.print(f"No On-Demand price is known of {', '.join(unknown)}: look it up before you deploy.")


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.4f}"


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["dev"])
