"""What a rank's memory grows by until its model is loaded and sharded: `python -m bench.training_memory TASK.json`.

Each variant has new processes, forked from one that has imported everything. Rank 0 prints one line of JSON for each.
"""

import json
import multiprocessing
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist

from bench.training_recipe import DEVICE, Recipe
from bench.training_task import LEARNING_RATE, OURS, RECIPE, Task
from training.figures import memory_peak
from training.mesh import build_mesh
from training.model import read_config
from training.ranks import Ranks
from training.setup import sharded_model

VARIANTS = (OURS, RECIPE)


def build(variant: str, task: Task, ranks: Ranks) -> object:
    """A variant's sharded model with its weights."""
    if variant == RECIPE:
        return Recipe(task.model, task.wrap_at, LEARNING_RATE)
    args = task.arguments("memory", "bfloat16")
    return sharded_model(args, read_config(args), DEVICE, ranks, build_mesh(args, DEVICE))


def member(rank: int, store: str, variant: str, tiny: Task, task: Task) -> None:
    """One rank: measure one variant."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=task.ranks)
    ranks = Ranks()
    build(variant, tiny, ranks)  # so that code which is loaded when it is first used does not count
    before = memory_peak(DEVICE)
    held = build(variant, task, ranks)
    grown = ranks.gather(memory_peak(DEVICE) - before)
    del held
    if rank == 0:
        print(json.dumps({variant: grown}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main() -> int:
    """Measure each variant."""
    tiny, task = (Task(**fields) for fields in json.loads(Path(sys.argv[1]).read_text()))
    fork = multiprocessing.get_context("fork")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS:
            store = f"{folder}/{variant}"
            members = [fork.Process(target=member, args=(r, store, variant, tiny, task)) for r in range(task.ranks)]
            for one in members:
                one.start()
            for one in members:
                one.join()
            failed = max([failed, *(abs(one.exitcode or 0) for one in members)])
    return failed


if __name__ == "__main__":
    sys.exit(main())
