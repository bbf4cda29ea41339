"""Doing something once, on rank 0, for all ranks."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

# How the other ranks' error begins when rank 0 has failed: the driver looks past it for the cause.
FOLLOWER = "rank 0 failed"


def on_rank0(make: Callable[[], T], device: torch.device) -> T | None:
    """Call `make` on rank 0 and return its value there, None on the other ranks.

    When it raises, rank 0 raises that error and the others a RuntimeError: nobody is left waiting in a collective.
    """
    value: T | None = None
    failure: Exception | None = None
    if dist.get_rank() == 0:
        try:
            value = make()
        except Exception as error:
            failure = error
    message = [None if failure is None else str(failure)]
    dist.broadcast_object_list(message, src=0, device=device)
    if failure is not None:
        raise failure
    if message[0] is not None:
        raise RuntimeError(f"{FOLLOWER}: {message[0]}")
    return value


def from_rank0(make: Callable[[], T], device: torch.device) -> T:
    """Call `make` on rank 0 and return its (picklable) value on every rank. Errors as in `on_rank0`."""
    box: list[Any] = [on_rank0(make, device)]
    dist.broadcast_object_list(box, src=0, device=device)
    value: T = box[0]
    return value


def from_rank0_tensor(make: Callable[[], torch.Tensor], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """As `from_rank0`, for a one-dimensional tensor of `dtype` on the CPU, sent without pickling."""
    tensor = on_rank0(make, device)
    length = from_rank0(lambda: 0 if tensor is None else len(tensor), device)
    sent = torch.empty(length, dtype=dtype, device=device) if tensor is None else tensor.to(device, dtype)
    dist.broadcast(sent, src=0)
    return sent.cpu()
