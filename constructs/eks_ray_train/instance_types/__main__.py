"""Prints the types for GPU nodes: `python -m eks_ray_train.instance_types [FAMILY ...]`."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType


def interfaces_table(types: Sequence[InstanceType]) -> Table:
    """Each type's GPUs, network cards and launch template entries; a mark sends to the notes below it."""
    table = Table(title="GPU nodes: what each instance type brings")
    for heading in ("type", "GPUs", "vCPU", "GiB", "NVMe GB", "cards", "EFA", "card 0", "cards 1 and up", "GDR", "$/h"):
        table.add_column(heading, justify="left" if heading in ("type", "card 0", "cards 1 and up") else "right")
    for row in types:
        table.add_row(
            row.name + ("*" if row.unverified else ""),
            f"{row.gpus} x {row.gpu.name}" if row.gpu else "0",
            str(row.vcpus),
            str(row.memory_mib // 1024),
            f"{row.nvme_disks} x {row.nvme_gb}",
            str(row.network_cards),
            str(row.efa_interfaces),
            row.card_0,
            _further_cards(row),
            "yes" if row.gpudirect_rdma else "no",
            "unknown" if row.usd_per_hour is None else f"{row.usd_per_hour:.4f}",
        )
    return table


def gpus_table(types: Sequence[InstanceType]) -> Table:
    """The GPUs of ``types``, each once."""
    table = Table(title="Their GPUs")
    for heading in ("GPU", "MiB", "bf16 TFLOP/s, dense", "CUDA from"):
        table.add_column(heading, justify="left" if heading == "GPU" else "right")
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


def _further_cards(row: InstanceType) -> str:
    _, *further = row.network_interfaces
    return f"{len(further)} x efa-only, device {further[0].device}" if further else ""


def main(families: Sequence[str]) -> None:
    """Prints the table, of some families or of all."""
    types = [row for row in INSTANCE_TYPES.values() if row.gpus and (row.family in families or not families)]
    if not types:
        known = sorted({row.family for row in INSTANCE_TYPES.values() if row.gpus})
        sys.exit(
            f"FAMILY = {' '.join(families)}\n    expected: of {', '.join(known)}\n    to do:    leave it out for all"
        )
    console = Console()
    console.print(interfaces_table(types))
    console.print(gpus_table(types))
    console.print(
        f"GDR: GPUDirect RDMA. Prices: On-Demand, Linux, {types[0].price_region}, {types[0].price_date}; unknown "
        "where the list that was read has none."
    )
    for note in notes(types):
        console.print(note)


if __name__ == "__main__":
    main(sys.argv[1:])
