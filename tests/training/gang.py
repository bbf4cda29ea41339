"""Train in several gloo processes without Ray: `python gang.py GROUPS.json`.

GROUPS.json is a list of {"world_size", "runs": [Arguments, ...]}, done one after the other. Rank 0 prints one line of
JSON for each run: {"ranks": [...]}, with each rank's summary or {"error", "kind"}. With "dies_saving", a step, rank 1
of the group kills itself while it writes that step's checkpoint, and nothing is printed for the run.
The processes are forked from one that has imported everything and run nothing, which saves seconds for each of them.
"""

import datetime
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from training.arguments import Arguments
from training.loop import train
from training.storage import ArrowFiles


def die_saving(step: int) -> None:
    open_stream = ArrowFiles.create_stream

    def create_stream(self: ArrowFiles, path: Any, mode: str) -> Any:
        if mode == "wb" and f"step-{step:08d}/" in str(path):
            with open_stream(self, path, mode) as stream:
                stream.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        return open_stream(self, path, mode)

    ArrowFiles.create_stream = create_stream  # type: ignore[method-assign]


def member(rank: int, store: str, group: dict[str, Any]) -> None:
    world_size = group["world_size"]
    # As on nodes of that many workers each; Ray Train sets the two.
    local = group.get("local_world_size", world_size)
    os.environ |= {"LOCAL_RANK": str(rank % local), "LOCAL_WORLD_SIZE": str(local)}
    if rank == 1 and "dies_saving" in group:
        die_saving(group["dies_saving"])
    dist.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=rank,
        world_size=world_size,
        timeout=datetime.timedelta(seconds=300),
    )
    for task in group["runs"]:
        try:
            outcome = train(Arguments(**task), torch.device("cpu"), {"driver": time.time()}, f"node-{rank // local}")
        except Exception as error:
            outcome = {"kind": type(error).__name__, "error": str(error)}
        outcomes: list[Any] = [None] * world_size
        dist.all_gather_object(outcomes, outcome)
        if rank == 0:
            sys.stdout.write(json.dumps({"ranks": outcomes}) + "\n")
            sys.stdout.flush()
    dist.destroy_process_group()


def run_group(number: int, group: dict[str, Any], folder: str) -> int:
    fork = multiprocessing.get_context("fork")
    processes = [
        fork.Process(target=member, args=(rank, f"{folder}/store-{number}", group))
        for rank in range(group["world_size"])
    ]
    for process in processes:
        process.start()
    if "dies_saving" in group:
        processes[1].join()
        for process in processes:
            process.kill()  # the job's end, as Ray's is
            process.join()
        return 0 if processes[1].exitcode == -signal.SIGKILL else 1
    for process in processes:
        process.join()
    return max(abs(process.exitcode or 0) for process in processes)


def main() -> int:
    groups = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        return max(run_group(number, group, folder) for number, group in enumerate(groups))


if __name__ == "__main__":
    sys.exit(main())
