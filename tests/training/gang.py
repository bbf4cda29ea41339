"""Train in several gloo processes without Ray: `python gang.py WORLD_SIZE TASKS.json`.

TASKS.json is a list of Arguments. Rank 0 prints one line of JSON for each: {"ranks": [...]}, with each rank's
summary or {"error", "kind"}.
The processes are forked from one that has imported everything and run nothing, which saves seconds for each of them.
"""

import datetime
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from training.arguments import Arguments
from training.loop import train


def member(rank: int, world_size: int, store: str, tasks: list[dict[str, Any]]) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=rank,
        world_size=world_size,
        timeout=datetime.timedelta(seconds=60),
    )
    for task in tasks:
        try:
            outcome = train(Arguments(**task), torch.device("cpu"), time.time())
        except Exception as error:
            outcome = {"kind": type(error).__name__, "error": str(error)}
        outcomes: list[Any] = [None] * world_size
        dist.all_gather_object(outcomes, outcome)
        if rank == 0:
            sys.stdout.write(json.dumps({"ranks": outcomes}) + "\n")
            sys.stdout.flush()
    dist.destroy_process_group()


def main() -> int:
    world_size, tasks = int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            fork.Process(target=member, args=(rank, world_size, f"{folder}/store", tasks)) for rank in range(world_size)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return max(abs(process.exitcode or 0) for process in processes)


if __name__ == "__main__":
    sys.exit(main())
