"""The update of the weights: AdamW, its learning rate, clipping, and the random numbers of a step."""

import math

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from training.arguments import Arguments

# The usual values for language models: 0.95 forgets a burst of large gradients twenty times sooner than 0.999.
BETAS = (0.9, 0.95)
# Fine-tuning starts from trained weights; pulling them (norms too) towards zero undoes part of them.
WEIGHT_DECAY = 0.0
# Bounds the step that one odd batch can cause; the value of nearly every published recipe.
MAX_GRADIENT_NORM = 1.0
# Where the cosine ends, as a share of the full rate.
LOWEST_RATE = 0.1


def make_optimizer(model: nn.Module, args: Arguments) -> torch.optim.AdamW:
    """Return AdamW, fused: one kernel for all parameters, on CUDA and on the CPU."""
    return torch.optim.AdamW(
        model.parameters(), lr=args.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY, fused=True
    )


def learning_rate(args: Arguments, step: int) -> float:
    """Return the rate of `step` (from 1): a function of the step alone, so a resumed run needs no scheduler's state.

    It rises first, for Adam's second moment rests on a handful of gradients then, and its updates are too large.
    """
    if step <= args.warmup_steps:
        return args.learning_rate * step / args.warmup_steps
    if args.schedule == "constant":
        return args.learning_rate
    gone = (step - args.warmup_steps) / (args.steps - args.warmup_steps)
    return args.learning_rate * (LOWEST_RATE + (1 - LOWEST_RATE) * (1 + math.cos(math.pi * gone)) / 2)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate` for the next update."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def seed_step(seed: int, step: int, rank: int) -> None:
    """Draw the random numbers of `step` (dropout, in models that have it) anew: they differ between ranks and steps.

    Their state is then a function of the position, as the learning rate is, and a resumed run draws the same.
    """
    generator = torch.Generator().manual_seed(seed)
    base = int(torch.randint(2**31, (1,), generator=generator))
    torch.manual_seed((base + step * 1_000_003 + rank) % 2**63)


def clip_gradients(model: nn.Module) -> torch.Tensor:
    """Scale the gradients to a norm of at most MAX_GRADIENT_NORM and return the norm before that, over all ranks."""
    parameters = list(model.parameters())
    norm = nn.utils.get_total_norm(p.grad for p in parameters if p.grad is not None)
    # Gathered once, here: clip_grad_norm_ would gather it, and the metrics a second time.
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    nn.utils.clip_grads_with_norm_(parameters, MAX_GRADIENT_NORM, norm)
    return norm
