"""Peak memory of a step of our sharding and loss, by torch's tracker, in two processes: `peak_ranks.py CASES.json`.

A case is {"reshard", "checkpointing"}, in full shards. Rank 0 prints {"peak": bytes} for each.
"""

import json
import multiprocessing
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy
from transformers import Qwen2Config, Qwen2ForCausalLM

from training.loss import CausalLMLoss
from training.recompute import checkpoint_activations
from training.sharding import shard

WORLD_SIZE, TOKENS, LOSS_CHUNK = 2, 256, 128
CONFIG: dict[str, Any] = {
    "vocab_size": 1024,
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}


def peak(case: dict[str, Any]) -> int:
    mesh = init_device_mesh("cpu", (WORLD_SIZE,))
    model: Any = Qwen2ForCausalLM(Qwen2Config(**CONFIG))
    model.train()
    checkpoint_activations(model, case["checkpointing"])
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    root: Any = CausalLMLoss(model, LOSS_CHUNK)
    shard(root, mesh, policy, reshard_after_forward=case["reshard"])
    optimizer = torch.optim.AdamW(root.parameters(), fused=True)
    ids = torch.randint(0, CONFIG["vocab_size"], (1, TOKENS))

    def step() -> None:
        root(ids, ids).backward()
        optimizer.step()
        optimizer.zero_grad()

    step()  # makes the optimizer's state
    tracker = FSDPMemTracker(root, optimizer)
    tracker.track_inputs((ids,))
    with tracker:
        step()
    return int(tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"])


def member(rank: int, store: str, cases: list[dict[str, Any]]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD_SIZE)
    for case in cases:
        found = peak(case)
        if rank == 0:
            sys.stdout.write(json.dumps({"peak": found}) + "\n")
            sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


def main() -> int:
    cases = json.loads(Path(sys.argv[1]).read_text())
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [fork.Process(target=member, args=(rank, f"{folder}/store", cases)) for rank in range(WORLD_SIZE)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return max(abs(process.exitcode or 0) for process in processes)


if __name__ == "__main__":
    sys.exit(main())
