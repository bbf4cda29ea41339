"""Records one step of our sharding per variant in several gloo processes: `plan_ranks.py WORLD_SIZE VARIANTS.json`.

A variant is {"layout", "reshard", "reduce": dtype, "micro_batches", "tied", "nodes"}. Rank 0 prints a line for each:
its Collectives as JSON, of the groups that it is in, and the bytes of its parameters, gradients and optimizer state.
"""

import json
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.distributed.tensor import DTensor
from transformers import Qwen2Config, Qwen2ForCausalLM

from training.flight_recorder import mark, since
from training.loss import CausalLMLoss
from training.sharding import reduce_across_nodes, shard

# Odd sizes: neither the vocabulary nor the widths divide by four, so shards are padded.
CONFIG: dict[str, Any] = {
    "vocab_size": 301,
    "hidden_size": 60,
    "intermediate_size": 130,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
}


def local_bytes(tensors: Sequence[torch.Tensor]) -> int:
    # The gradients of a group are views of one storage.
    storages = [(t.to_local() if isinstance(t, DTensor) else t).untyped_storage() for t in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def measure(variant: dict[str, Any]) -> dict[str, Any]:
    world, nodes = dist.get_world_size(), variant["nodes"]
    hsdp = variant["layout"] == "hsdp"
    sizes, names = ((nodes, world // nodes), ("replicate", "shard")) if hsdp else ((world,), ("shard",))
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
    torch.manual_seed(0)
    model: Any = Qwen2ForCausalLM(Qwen2Config(**CONFIG, tie_word_embeddings=variant["tied"]))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=getattr(torch, variant["reduce"]))
    root: Any = CausalLMLoss(model, loss_chunk=8)
    shard(root, mesh, policy, reshard_after_forward=variant["reshard"])
    optimizer = torch.optim.AdamW(root.parameters(), fused=True)
    ids = torch.randint(0, CONFIG["vocab_size"], (1, 16))
    begin = mark()
    for number in range(variant["micro_batches"]):
        reduce_across_nodes(root, last=number == variant["micro_batches"] - 1)
        root(ids, ids).backward()
    recorded = [[c.operation, c.payload, list(c.ranks)] for c in since(begin)]
    optimizer.step()
    parameters = list(model.parameters())
    states = [t for state in optimizer.state.values() for name, t in state.items() if name != "step"]
    return {
        "collectives": recorded,
        "parameters": local_bytes(parameters),
        "gradients": local_bytes([p.grad for p in parameters if p.grad is not None]),
        "optimizer": local_bytes(states),
    }


def member(rank: int, world_size: int, store: str, variants: list[dict[str, Any]]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    for variant in variants:
        measured = measure(variant)
        if rank == 0:
            sys.stdout.write(json.dumps(measured) + "\n")
            sys.stdout.flush()
    dist.barrier()
    dist.destroy_process_group()


def main() -> int:
    world_size, variants = int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            fork.Process(target=member, args=(rank, world_size, f"{folder}/store", variants))
            for rank in range(world_size)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return max(abs(process.exitcode or 0) for process in processes)


if __name__ == "__main__":
    sys.exit(main())
