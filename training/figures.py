"""How fast, and of what is possible: FLOPs per token, the device's measured peak, memory."""

import math
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import PretrainedConfig

from training.plan_model import flops_per_token


def model_flops_per_token(config: PretrainedConfig, parameters: int, sequence_length: int) -> float:
    """Return `flops_per_token` of a model of any architecture, with so many parameters."""
    text = config.get_text_config()
    untied: int = 0 if config.tie_word_embeddings else text.vocab_size * text.hidden_size
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    width = text.num_attention_heads * head
    return flops_per_token(parameters - untied, text.num_hidden_layers, width, sequence_length)


def measured_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Return the FLOP/s of a large matrix product on `device`: what a step could reach if it were nothing else."""
    size, times = (8192, 20) if device.type == "cuda" else (512, 4)
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    c = a @ b  # the first call loads and chooses kernels
    _wait(device)
    began = time.perf_counter()
    for _ in range(times):
        torch.mm(a, b, out=c)
    _wait(device)
    return times * 2 * size**3 / (time.perf_counter() - began)


def memory_peak(device: torch.device) -> int:
    """Return the most bytes that this process has held: on the GPU since the last reset, else of resident memory."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_memory_peak(device: torch.device) -> None:
    """Begin a new peak. A process cannot reset its resident peak: on a CPU the later figure includes the earlier."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of `values` that at least `share` (0 to 1) of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def speed(
    step_seconds: Sequence[float],
    tokens_per_step: int,
    world_size: int,
    flops: float,
    gemm: float,
    peak: float | None,
    usd_per_hour: float | None,
) -> dict[str, Any]:
    """Return what result.json says of speed.

    `flops` is per token, `gemm` and `peak` FLOP/s of one device. MFU, the model's FLOPs over the device's, is against
    both: a card that is held to its power limit never reaches the nominal one.
    """
    median = statistics.median(step_seconds)
    tokens = tokens_per_step / median
    achieved = tokens * flops / world_size
    return {
        "tokens_per_second": tokens,
        "step_seconds": {"median": median, "p95": percentile(step_seconds, 0.95)},
        "flops_per_token": flops,
        "mfu": {
            "of_nominal_peak": None if peak is None else achieved / peak,
            "of_measured_gemm": achieved / gemm,
            "nominal_peak": peak,
            "measured_gemm": gemm,
        },
        "usd_per_million_tokens": None if usd_per_hour is None else usd_per_hour / 3600 / tokens * 1e6,
    }


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
