"""The AWS sample's training recipe, written anew from its description: what the benchmark holds our training against.

FSDP1 wrapped by size, weights and optimizer in bfloat16, the whole model loaded on every rank, the embedding untied.
"""

import functools
from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from transformers import AutoModelForCausalLM

# Where Ray Train's own `prepare_model` is given the policy, for it refuses FSDP without a GPU.
DEVICE = torch.device("cpu")


class Recipe:
    """The recipe on one rank. With `dtype` float32, only its sharding is left of what sets it apart."""

    def __init__(self, model: Path, wrap_at: int, learning_rate: float, dtype: torch.dtype = torch.bfloat16) -> None:
        # Sharding the embedding and the head, which are one matrix, as two modules makes two matrices of them.
        policy = functools.partial(size_based_auto_wrap_policy, min_num_params=wrap_at)
        whole: Any = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
        self.model: Any = FullyShardedDataParallel(whole, auto_wrap_policy=policy, device_id=DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate)

    def step(self, ids: torch.Tensor, targets: torch.Tensor) -> float:
        """Do one optimizer step on this rank's share and return its mean loss."""
        self.optimizer.zero_grad()
        # transformers shifts `labels` itself; given both, it takes the targets as they are, contiguous.
        loss: torch.Tensor = self.model(input_ids=ids, labels=targets, shift_labels=targets.contiguous()).loss
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        self.optimizer.step()
        return loss.item()

    def units(self) -> int:
        """How many modules are sharded by themselves."""
        return sum(isinstance(module, FullyShardedDataParallel) for module in self.model.modules())

    def parameters(self, ranks: int) -> int:
        """How many parameters are trained over all ranks; padding to a multiple of `ranks` is counted too."""
        return ranks * sum(int(parameter.numel()) for parameter in self.model.parameters())
