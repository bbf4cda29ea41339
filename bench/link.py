"""Measures the bytes that FSDP sends between two hosts, beside the plan's: ``python -m bench.link``.

Two hosts of two ranks each, as network namespaces joined by one shaped link; gloo on the CPU. All variants train the
same small model in one run.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.errors import BenchError, ending
from bench.link_net import HOSTS, INTERFACE, link
from training.plan_bytes import Layout, Traffic, bytes_per_node
from training.plan_model import QWEN2_5_1_5B, Group, Model, read_model
from training.transport_meter import STEPS

ROOT = Path(__file__).resolve().parent.parent
PER_HOST, REAL_PER_HOST = 2, 4
CONFIG: dict[str, Any] = {
    "vocab_size": 8192,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
# Between a projection of the MLP and one of attention, as the sample's 1e7 lies for the real model.
WRAP_AT = 200_000
SEQUENCE_LENGTH = 64
TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Variant:
    """One way to shard. `baseline`: the AWS sample's."""

    name: str
    layout: Layout
    reduce: str
    baseline: bool = False

    def model(self, config: dict[str, Any]) -> Model:
        """What it shards: the baseline's wrapping unties the embedding and keeps nothing gathered."""
        if not self.baseline:
            return read_model(config | {"model_type": "qwen2"})
        untied = read_model(config | {"model_type": "qwen2", "tie_word_embeddings": False})
        return dataclasses.replace(untied, ends=tuple(Group(group.shapes) for group in untied.ends))

    def planned(self, config: dict[str, Any], per_host: int, *, gloo: bool) -> float:
        """Bytes that leave each of the two hosts per step."""
        width = {"float32": 4, "bfloat16": 2}[self.reduce]
        traffic = Traffic(layout=self.layout, reduce_width=width, reduce_scatter_as_all_reduce=gloo)
        return bytes_per_node(self.model(config), traffic, HOSTS, per_host)


BASELINE = Variant("baseline", "full", "bfloat16", baseline=True)
VARIANTS = (
    BASELINE,
    Variant("full", "full", "float32"),
    Variant("hsdp", "hsdp", "float32"),
    Variant("hsdp, bf16 reduction", "hsdp", "bfloat16"),
)


@dataclass(frozen=True)
class Measured:
    """Per step: bytes that left a host, as counted, as the flight recorder has them and as planned; and seconds."""

    variant: Variant
    bytes: float
    recorded: float
    seconds: float
    planned: float


def measure(config: dict[str, Any], wrap_at: int, steps: int, megabits: int) -> list[Measured]:
    """Train all variants on a fresh link. Raises BenchError."""
    with link(megabits) as namespaces, tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "task.json"
        variants = [dataclasses.asdict(variant) for variant in VARIANTS]
        task.write_text(
            json.dumps(
                {
                    "config": config,
                    "wrap_at": wrap_at,
                    "steps": steps,
                    "sequence_length": SEQUENCE_LENGTH,
                    "variants": variants,
                }
            )
        )
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": INTERFACE, "OMP_NUM_THREADS": "1"}
        processes = [
            subprocess.Popen(  # noqa: S603 - no shell, and the command is ours
                [*inside(namespace), "-m", "bench.link_rank", str(host), str(PER_HOST), str(task)],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # so that the ranks, its children, can be ended with it
            )
            for host, namespace in enumerate(namespaces)
        ]
        try:
            outputs = [process.communicate(timeout=TIMEOUT_SECONDS) for process in processes]
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):  # they have all ended
                    os.killpg(process.pid, signal.SIGKILL)
        if any(process.returncode for process in processes):
            code = next(process.returncode for process in processes if process.returncode)
            said = "\n".join(error[-1500:] for _, error in outputs if error)
            raise BenchError("a host", ending(code, said), "exit code 0", "mend what it says: bench/link_rank.py ran")
    figures = [json.loads(line) for line in outputs[0][0].splitlines() if line.startswith("{")]
    return [
        Measured(
            variant, found["bytes"], found["recorded"], found["seconds"], variant.planned(config, PER_HOST, gloo=True)
        )
        for variant, found in zip(VARIANTS, figures, strict=True)
    ]


def inside(namespace: str) -> list[str]:
    """Python in a network namespace."""
    return ["ip", "netns", "exec", namespace, sys.executable]


def render(rows: Sequence[Measured], config: dict[str, Any], megabits: int) -> tuple[Table, Table]:
    """What was measured, and the plan for NCCL: of the same model, and of the real one on two nodes of four GPUs."""
    (base,) = [row for row in rows if row.variant.baseline]
    parameters = read_model(config | {"model_type": "qwen2"}).parameters
    measured = Table(title=f"Measured over gloo: {parameters / 1e6:.1f}M parameters, 2 x 2 ranks, {megabits} Mbit/s")
    planned = Table(title="Planned for NCCL, not measured")
    for table, columns in (
        (measured, ("MB per step", "/ recorder", "/ plan", "/ baseline", "s per step")),
        (planned, ("this model, MB", "/ baseline", "1.5B on 2 x 4, GB", "/ baseline")),
    ):
        table.add_column("variant")
        for column in columns:
            table.add_column(column, justify="right")
    small_base = BASELINE.planned(config, PER_HOST, gloo=False)
    real_base = BASELINE.planned(QWEN2_5_1_5B, REAL_PER_HOST, gloo=False)
    for row in rows:
        measured.add_row(
            row.variant.name,
            f"{row.bytes / 1e6:.2f}",
            f"{row.bytes / row.recorded:.3f}",
            f"{row.bytes / row.planned:.3f}",
            f"{row.bytes / base.bytes:.1%}",
            f"{row.seconds:.2f}",
        )
        small = row.variant.planned(config, PER_HOST, gloo=False)
        real = row.variant.planned(QWEN2_5_1_5B, REAL_PER_HOST, gloo=False)
        planned.add_row(
            row.variant.name,
            f"{small / 1e6:.2f}",
            f"{small / small_base:.1%}",
            f"{real / 1e9:.2f}",
            f"{real / real_base:.1%}",
        )
    return measured, planned


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.link", description="bytes of FSDP between two hosts")
    parser.add_argument("--megabits", type=int, default=400, help="rate of the link (default: 400)")
    options = parser.parse_args(arguments)
    if options.megabits < 1:
        parser.error(f"--megabits = {options.megabits}\n    expected: 1 or more\n    to do:    raise it")
    try:
        rows = measure(CONFIG, WRAP_AT, STEPS, options.megabits)
    except BenchError as error:
        sys.exit(f"\n{error}\n")
    Console().print(
        *render(rows, CONFIG, options.megabits),
        "gloo runs a reduce-scatter as an all-reduce: full shards and the baseline send more than over NCCL, so their "
        "distance to hsdp is larger here than there.",
        sep="\n",
    )


if __name__ == "__main__":
    main()
