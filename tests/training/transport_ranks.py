"""The proof and the meter over gloo: `python transport_ranks.py REQUIRED STEPS NODE...`, one process per NODE.

Rank 0 prints {"ranks": [...]}: of each rank its error, or the verdicts and what the meter found. A step is an
all-gather of 4 MiB over all ranks and an all-reduce of 1 MiB with the same place on the other nodes.
"""

import json
import multiprocessing
import os
import sys
import tempfile
from typing import Any

import torch
import torch.distributed as dist

from training.transport_meter import BytesMeter
from training.transport_proof import groups_across, prove
from training.transport_verdict import Required, TransportError

GATHERED, REDUCED = 4 * 1024**2, 1024**2


def run(required: Required, steps: int, nodes: list[str]) -> dict[str, Any]:
    node, device = nodes[dist.get_rank()], torch.device("cpu")
    recorded: list[Any] = []
    try:
        verdicts = prove(required, device, node, record=recorded.append)
    except TransportError as error:
        return {"error": str(error), "recorded": recorded}
    meter = BytesMeter(verdicts[dist.get_rank()]["kind"], device, node)
    group, _ = dist.new_subgroups_by_enumeration(groups_across(nodes))
    mine, everything = torch.zeros(GATHERED // len(nodes) // 4), torch.zeros(GATHERED // 4)
    for _ in range(steps):
        dist.all_gather_single(everything, mine)
        dist.all_reduce(torch.zeros(REDUCED // 4), group=group)
        meter.after_step()
    return {"kinds": [verdict["kind"] for verdict in verdicts], "recorded": recorded, "bytes": meter.after_run()}


def member(rank: int, store: str, required: Required, steps: int, nodes: list[str]) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=len(nodes))
    outcomes: list[Any] = [None] * len(nodes)
    dist.all_gather_object(outcomes, run(required, steps, nodes))
    if rank == 0:
        sys.stdout.write(json.dumps({"ranks": outcomes}) + "\n")
        sys.stdout.flush()
    dist.destroy_process_group()


def main() -> int:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    _, required, steps, *nodes = sys.argv
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            fork.Process(target=member, args=(rank, f"{folder}/store", required, int(steps), nodes))
            for rank in range(len(nodes))
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return max(abs(process.exitcode or 0) for process in processes)


if __name__ == "__main__":
    sys.exit(main())
