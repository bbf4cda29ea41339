"""One host of the benchmark of the link: trains each variant for a few steps and counts what it sends.

`python -m bench.link_rank HOST RANKS TASK.json`; rank 0 prints one line of JSON per variant.
"""

import functools
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from transformers import Qwen2Config, Qwen2ForCausalLM

from bench.link_net import ADDRESSES, HOSTS
from training.transport_meter import BytesMeter

PORT = 29_431


def build(task: dict[str, Any], variant: dict[str, Any]) -> Any:
    """The model of a variant, sharded."""
    torch.manual_seed(0)
    model: Any = Qwen2ForCausalLM(Qwen2Config(**task["config"]))
    if variant["baseline"]:
        # The AWS sample's recipe: FSDP1, bfloat16 weights, wrapped by size, which also unties the embedding.
        policy = functools.partial(size_based_auto_wrap_policy, min_num_params=task["wrap_at"])
        return FullyShardedDataParallel(
            model.to(torch.bfloat16), auto_wrap_policy=policy, device_id=torch.device("cpu")
        )
    world = dist.get_world_size()
    hsdp = variant["layout"] == "hsdp"
    mesh = init_device_mesh(
        "cpu",
        (HOSTS, world // HOSTS) if hsdp else (world,),
        mesh_dim_names=("replicate", "shard") if hsdp else ("shard",),
    )
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=getattr(torch, variant["reduce"]))
    for block in model.model.layers:
        fully_shard(block, mesh=mesh, mp_policy=precision)
    ends = [model.model.embed_tokens, model.model.norm, model.lm_head]
    fully_shard(ends, mesh=mesh, mp_policy=precision, reshard_after_forward=False)
    return fully_shard(model, mesh=mesh, mp_policy=precision)


def measure(task: dict[str, Any], variant: dict[str, Any]) -> dict[str, float]:
    """Per step, after one that does not count: bytes that this host sent, as counted and as recorded, and seconds."""
    model = build(task, variant)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, task["config"]["vocab_size"], (1, task["sequence_length"]))
    meter = BytesMeter("SOCKET", torch.device("cpu"), f"host {dist.get_rank() * HOSTS // dist.get_world_size()}")
    began = 0.0
    for step in range(1, 2 + task["steps"]):
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        meter.after_step()
        if step == 1:
            began = time.perf_counter()
    found = meter.after_run()
    seconds = (time.perf_counter() - began) / task["steps"]
    if "why" in found:
        raise RuntimeError(found["why"])
    return {
        "bytes": found["measured_bytes_per_step"],
        "recorded": found["predicted_bytes_per_step"],
        "seconds": seconds,
    }


def member(rank: int, world_size: int, task: dict[str, Any]) -> None:
    """One rank: run all variants."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{ADDRESSES[0]}:{PORT}", rank=rank, world_size=world_size)
    for variant in task["variants"]:
        hosts: list[Any] = [None] * world_size
        dist.all_gather_object(hosts, measure(task, variant))
        if rank == 0:
            # Each host's bytes are the same on its ranks; the busier host's count.
            print(json.dumps(max(hosts, key=lambda host: host["bytes"])), flush=True)
    dist.destroy_process_group()


def main() -> int:
    """Start this host's ranks, forked from one process that has imported everything."""
    host, per_host, task_file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    task = json.loads(Path(task_file).read_text())
    fork = multiprocessing.get_context("fork")
    ranks = [
        fork.Process(target=member, args=(host * per_host + local, HOSTS * per_host, task)) for local in range(per_host)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return max(abs(rank.exitcode or 0) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
