"""Activation checkpointing: what the forward keeps, and what the backward computes again."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
from transformers import PreTrainedModel

from training.errors import InputError

aten = torch.ops.aten
# Attention is quadratic in the sequence's length; its output is small beside what it takes.
ATTENTION = {
    aten._scaled_dot_product_flash_attention.default,
    aten._scaled_dot_product_efficient_attention.default,
    aten._scaled_dot_product_cudnn_attention.default,
    aten._scaled_dot_product_flash_attention_for_cpu.default,
}
PRODUCTS = {aten.mm.default, aten.addmm.default}


def _policy() -> Callable[..., CheckpointPolicy]:
    """Return a policy that keeps attention and every second matrix product, as torchtitan's selective mode does."""
    seen = {"forward": 0, "recompute": 0}

    def decide(context: Any, operation: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        if operation in PRODUCTS:
            phase = "recompute" if context.is_recompute else "forward"
            seen[phase] += 1
            return CheckpointPolicy.MUST_SAVE if seen[phase] % 2 else CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if operation in ATTENTION else CheckpointPolicy.PREFER_RECOMPUTE

    return decide


def _selective_contexts() -> Any:
    return create_selective_checkpoint_contexts(_policy())


def checkpoint_activations(model: PreTrainedModel, mode: str) -> None:
    """Have each decoder layer of `model` keep less: `mode` is full, selective or off. Raises InputError."""
    if mode == "off":
        return
    if not model.supports_gradient_checkpointing:
        raise InputError(
            "activation-checkpointing",
            mode,
            "off, for transformers cannot checkpoint this model's layers",
            "Leave it off, or choose another model.",
        )
    options: dict[str, Any] = {"use_reentrant": False}
    if mode == "selective":
        options["context_fn"] = _selective_contexts
    # Its name from transformers 5.2x on; the older one is deprecated there.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable(options)
