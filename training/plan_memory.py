"""What one GPU's memory holds at the peak of a step, by part."""

from dataclasses import dataclass
from typing import Literal

from training.plan_bytes import Layout
from training.plan_model import Model

Checkpointing = Literal["off", "selective", "full"]


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes on one GPU: each part at its largest, and what is there together at three moments of a step."""

    parameters: float
    gradients: float
    optimizer: float
    gathered: float
    reduction: float
    activations: float
    recompute: float
    logits: float
    head_gradient: float
    at_loss: float
    at_first_backward: float
    at_last_backward: float

    @property
    def peak(self) -> float:
        """The most at once."""
        return max(self.at_loss, self.at_first_backward, self.at_last_backward)


def saved_per_token(model: Model, width: int) -> int:
    """Bytes that one block keeps for backward per token, without activation checkpointing, at `width` bytes each.

    Counted from what transformers' Qwen2, run eagerly, saves for autograd. Per RMSNorm: its input as float32, the
    reciprocal root, the normalised value, and the product with its weight. Attention: q and k after rotation, v, the
    output, and a float32 per head. MLP: the outputs of both projections, the activation of one, and their product.
    """
    norms = 2 * ((4 + 2 * width) * model.hidden + 4)
    attention = 2 * (model.query + model.key_value) * width + 4 * model.heads
    mlp = 4 * model.intermediate * width
    return norms + attention + mlp


def kept_per_token(model: Model, width: int, checkpointing: Checkpointing) -> int:
    """Bytes of those that one block keeps per token under activation checkpointing: at least its input.

    Selective keeps the outputs of attention and of every second matrix product: of q, v, gate and down.
    """
    if checkpointing == "off":
        return saved_per_token(model, width)
    if checkpointing == "full":
        return model.hidden * width
    return (2 * model.hidden + 2 * model.query + model.key_value + model.intermediate) * width + 4 * model.heads


def memory(
    model: Model,
    *,
    layout: Layout,
    nodes: int,
    per_node: int,
    tokens: int,
    checkpointing: Checkpointing,
    reshard: bool = True,
    accumulated: bool = False,
    loss_chunk: int = 1024,
    compute_width: int = 2,
    reduce_width: int = 4,
) -> Memory:
    """Peak memory for `tokens` per micro-batch and GPU; master weights, gradients and both AdamW moments in float32.

    `accumulated`: gradients of an earlier micro-batch are there during forward. `loss_chunk`: tokens whose logits exist
    at a time. Within 5% of what torch's FSDP memory tracker counts on the CPU, which cannot follow
    accumulation. Not in it: the CUDA context, NCCL's buffers and what the allocator wastes; `training.plan` leaves room
    for them.
    """
    ways = nodes * per_node if layout == "full" else per_node
    shard = 4.0 * sum(group.shard(ways) for group in model.groups)
    block = max(group.parameters for group in model.blocks)
    ends = sum(group.parameters for group in model.ends)
    # Freed blocks: one in use, and the next one gathered meanwhile.
    pair = 2 * block * compute_width
    kept = sum(group.parameters for group in model.groups if group.kept) * compute_width
    gathered = kept + pair if reshard else model.parameters * compute_width
    saved = saved_per_token(model, compute_width) * tokens
    kept_per_block = kept_per_token(model, compute_width, checkpointing) * tokens
    activations = len(model.blocks) * kept_per_block
    recompute = 0 if checkpointing == "off" else saved - kept_per_block
    # The last norm keeps what a block's norm does; its output's gradient is made with the loss.
    tail = (4 + 3 * compute_width) * model.hidden * tokens
    # A chunk's logits and their gradient in float32, and the gradient again in the compute dtype; beside them the
    # head's gradient in float32, and what one chunk adds to it.
    logits = (4 + 4 + compute_width) * model.vocabulary * min(tokens, loss_chunk)
    head_gradient = 2 * 4.0 * model.vocabulary * model.hidden
    # A group's gradient in the compute dtype, and the buffer of the reduction's dtype that it is copied into. The
    # head's waits from the loss to the end: a tied embedding adds its own last.
    both = compute_width + reduce_width
    static = 3 * shard + (shard if accumulated else 0.0)
    fresh = 0.0 if accumulated else shard
    return Memory(
        parameters=shard,
        gradients=shard,
        optimizer=2 * shard,
        gathered=gathered,
        reduction=max(block, ends) * both,
        activations=activations,
        recompute=recompute,
        logits=logits,
        head_gradient=head_gradient,
        # The blocks are freed by then.
        at_loss=static + (kept if reshard else gathered) + activations + tail + logits + head_gradient,
        at_first_backward=static + gathered + activations + tail + recompute + block * both + ends * compute_width,
        # Backward frees each group behind it.
        at_last_backward=static + fresh + pair + recompute + ends * both,
    )
