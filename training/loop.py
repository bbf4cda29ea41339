"""The training loop. `train` needs a process group only; `train_func` is its thin layer for Ray Train.

`train_func` lives here and not in the driver: Ray sends it to the workers by name, and cannot pickle it from __main__.
"""

import platform
import time
from typing import Any

import ray
import ray.train
import ray.train.torch
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
import transformers
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from transformers import PretrainedConfig, PreTrainedModel

from training.arguments import Arguments
from training.data import Samples, make_tokens
from training.metrics import StepMetrics
from training.model import build_on_meta, materialise, read_config
from training.ranks import from_rank0, from_rank0_tensor, on_rank0
from training.sharding import count_parameters, load, shard

# Adam's second moment rests on a handful of gradients at first, so its first updates are too large at the full rate.
WARMUP_STEPS = 10
# The usual values for language models: 0.95 forgets a burst of large gradients twenty times sooner than 0.999.
BETAS = (0.9, 0.95)
# Fine-tuning starts from trained weights; pulling them (norms too) towards zero undoes part of them.
WEIGHT_DECAY = 0.0
# Bounds the step that one odd batch can cause; the value of nearly every published recipe.
MAX_GRADIENT_NORM = 1.0


def train_func(config: dict[str, Any]) -> dict[str, Any]:
    """Run `train` as a Ray Train worker. `config`: the fields of Arguments, and `started`, the driver's time.time()."""
    arguments = dict(config)
    started = arguments.pop("started")
    return train(Arguments(**arguments), ray.train.torch.get_device(), started)


def train(args: Arguments, device: torch.device, started: float) -> dict[str, Any]:
    """Train in the default process group, one process per `device`, and return what result.json says of the run.

    `started` is the time.time() at which the run began. Raises InputError (rank 0) or RuntimeError.
    """
    if device.type == "cpu":
        torch.set_num_threads(1)  # each worker has one core; more threads only wait for each other
    rank, world_size = dist.get_rank(), dist.get_world_size()
    entered = time.time()

    # Rank 0 alone reads what may come from the hub; the others get it from there.
    config = from_rank0(lambda: read_config(args), device)
    tokens = from_rank0_tensor(lambda: torch.from_numpy(make_tokens(args, config, world_size)), torch.int32, device)
    samples = Samples(tokens, args.sequence_length, args.seed)
    data_ready = time.time()

    model = sharded_model(args, config, device)
    # Fused: one kernel for all parameters, on CUDA and on the CPU.
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=args.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY, fused=True
    )
    torch.manual_seed(args.seed + rank)  # dropout, in models that have it, must differ between ranks
    model_ready = time.time()

    with StepMetrics(args, device) as metrics:
        for step in range(1, args.steps + 1):
            learning_rate = args.learning_rate * min(1.0, step / WARMUP_STEPS)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            batch = to_device(samples.batch(step - 1, args.micro_batch, rank, world_size), device)
            loss = next_token_loss(model, batch)
            loss.backward()
            gradient_norm = clip_gradients(model)
            optimizer.step()
            optimizer.zero_grad()
            metrics.add(step, learning_rate, loss, gradient_norm)
    return {
        "world_size": world_size,
        "backend": dist.get_backend(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine() + " CPU",
        "parameters": count_parameters(model),
        "steps": args.steps,
        "first_loss": metrics.losses[0],
        "last_loss": metrics.losses[-1],
        "tokens_per_second": metrics.tokens_per_second,
        "seconds": {
            "start": entered - started,
            "data": data_ready - entered,
            "model": model_ready - data_ready,
            "training": time.time() - model_ready,
        },
        "versions": versions(),
    }


def sharded_model(args: Arguments, config: PretrainedConfig, device: torch.device) -> PreTrainedModel:
    """Return the model with its weights, sharded over all ranks; only rank 0 ever holds all of them, on its CPU."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),), mesh_dim_names=("shard",))
    model = build_on_meta(config)
    shard(model, mesh, getattr(torch, args.compute_dtype))
    load(model, on_rank0(lambda: materialise(args, config), device), device)
    return model


def to_device(batch: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy `batch` to `device`; from pinned memory, for any other copy to a GPU waits for the work queued on it."""
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch


def next_token_loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy in nats of each next token of `batch`, shape (sequences, sequence_length + 1).

    The mean over one rank is enough: all sequences have the same length and no padding, so every rank has the same
    number of targets, and FSDP's mean of the ranks' gradients is the mean over the global batch's tokens.
    """
    logits = model(input_ids=batch[:, :-1], use_cache=False).logits
    # float32: in bfloat16 the sum of a vocabulary's exponentials keeps two to three digits.
    return F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


def clip_gradients(model: nn.Module) -> torch.Tensor:
    """Scale the gradients to a norm of at most MAX_GRADIENT_NORM and return the norm before that, over all ranks."""
    parameters = list(model.parameters())
    norm = nn.utils.get_total_norm(p.grad for p in parameters if p.grad is not None)
    # Gathered once, here: clip_grad_norm_ would gather it, and the metrics a second time.
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    nn.utils.clip_grads_with_norm_(parameters, MAX_GRADIENT_NORM, norm)
    return norm


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "ray": ray.__version__,
        "transformers": transformers.__version__,
    }
    if torch.cuda.is_available():
        found |= {"cuda": str(torch.version.cuda), "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    return found
