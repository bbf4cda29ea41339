"""Prints the types for GPU nodes: `python -m eks_ray_train.instance_types [FAMILY ...]`."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType

# Holds the widest table in full. A pipe or a file has no width of its own, and rich takes it for 80 columns.
UNCUT = 100


def machines_table(types: Sequence[InstanceType]) -> Table:
    """What each type has, and its price; a mark sends to the notes below. At 80 columns only the GPUs' names wrap."""
    table = _table("GPU nodes: what each instance type has", "type", "GPUs", "vCPU", "GiB", "NVMe GB", "$/h")
    table.columns[1].no_wrap = False
    for row in types:
        table.add_row(
            _marked(row),
            f"{row.gpus} x {row.gpu.name}" if row.gpu else "0",
            str(row.vcpus),
            str(row.memory_mib // 1024),
            f"{row.nvme_disks} x {row.nvme_gb}",
            "unknown" if row.usd_per_hour is None else f"{row.usd_per_hour:.4f}",
        )
    return table


def interfaces_table(types: Sequence[InstanceType]) -> Table:
    """Each type's network cards and launch template entries, in 80 columns."""
    table = _table("Their network interfaces", "type", "cards", "EFA", "card 0", "cards 1 and up", "GDR")
    for row in types:
        table.add_row(
            _marked(row),
            str(row.network_cards),
            str(row.efa_interfaces),
            row.card_0,
            _further_cards(row),
            "yes" if row.gpudirect_rdma else "no",
        )
    return table


def gpus_table(types: Sequence[InstanceType]) -> Table:
    """The GPUs of ``types``, each once."""
    table = _table("Their GPUs", "GPU", "MiB", "bf16 TFLOP/s, dense", "CUDA from")
    for gpu in dict.fromkeys(row.gpu for row in types if row.gpu):
        peak = "unknown" if gpu.bf16_flops is None else f"{gpu.bf16_flops / 1e12:.0f}"
        table.add_row(gpu.name, str(gpu.memory_mib), peak, gpu.minimum_cuda)
    return table


def notes(types: Sequence[InstanceType]) -> list[str]:
    """What is not verified, each note once with the types that it is about."""
    about: dict[str, list[str]] = {}
    for row in types:
        for note in row.unverified:
            about.setdefault(note, []).append(row.name)
    return [f"* {', '.join(names)}: {note}" for note, names in about.items()]


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        left = heading in ("type", "GPU", "card 0", "cards 1 and up")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    return table


def _marked(row: InstanceType) -> str:
    return row.name + ("*" if row.unverified else "")


def _further_cards(row: InstanceType) -> str:
    _, *further = row.network_interfaces
    return f"{len(further)} x efa-only, device {further[0].device}" if further else ""


def main(families: Sequence[str]) -> None:
    """Prints the tables, of some families or of all."""
    types = [row for row in INSTANCE_TYPES.values() if row.gpus and (row.family in families or not families)]
    if not types:
        known = sorted({row.family for row in INSTANCE_TYPES.values() if row.gpus})
        sys.exit(
            f"FAMILY = {' '.join(families)}\n    expected: of {', '.join(known)}\n    to do:    leave it out for all"
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=UNCUT, soft_wrap=True)
    for table in (machines_table(types), interfaces_table(types), gpus_table(types)):
        console.print(table)
    console.print(
        f"GDR: GPUDirect RDMA. Prices: On-Demand, Linux, {types[0].price_region}, {types[0].price_date}; unknown "
        "where the list that was read has none."
    )
    for note in notes(types):
        console.print(note)


if __name__ == "__main__":
    main(sys.argv[1:])
