"""The language model's loss, without ever holding all logits: the largest tensor of a training step by far.

torch's own linear_cross_entropy (2.13) is chunked too, but returns the loss in the inputs' dtype: in bfloat16 a sum
over thousands of tokens keeps three digits.
"""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import nn
from transformers import PreTrainedModel

# A target that is not predicted, as in all of transformers.
IGNORED = -100
# A power of two, so that multiplying and dividing by it changes no weight.
LARGE = 2.0**10


def float32_logits(hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return hidden @ weight.T in float32, (tokens, vocabulary): products in the inputs' dtype, sums in float32."""
    if hidden.dtype == torch.float32:
        logits = hidden @ weight.T
    elif hidden.is_cuda:
        logits = torch.mm(hidden, weight.T, out_dtype=torch.float32)
    else:
        logits = hidden.float() @ weight.float().T
    return logits if bias is None else logits + bias.float()


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Sum of cross-entropies; the gradients are computed chunk by chunk in the forward, so no logits are kept."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        targets: torch.Tensor,
        chunk: int,
    ) -> torch.Tensor:
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        wanted = ctx.needs_input_grad[:3]
        d_hidden = torch.empty_like(hidden) if wanted[0] else None
        # float32, for chunks are added up: in bfloat16 a later, smaller one would be rounded away.
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if wanted[1] else None
        d_bias = torch.zeros_like(bias, dtype=torch.float32) if bias is not None and wanted[2] else None
        for start in range(0, len(targets), chunk):
            part = slice(start, start + chunk)
            logits = float32_logits(hidden[part], weight, bias)
            total += F.cross_entropy(logits, targets[part], ignore_index=IGNORED, reduction="sum")
            if not any(wanted):
                continue
            kept = targets[part] != IGNORED
            # The gradient of the sum with respect to the logits is softmax - one-hot, for the tokens that count.
            gradient = logits.softmax(-1)
            gradient[torch.arange(len(kept), device=kept.device), targets[part].clamp(min=0)] -= 1
            gradient *= kept[:, None]
            if d_bias is not None:
                d_bias += gradient.sum(0)
            narrow = gradient.to(hidden.dtype)
            if d_hidden is not None:
                d_hidden[part] = narrow @ weight
            if d_weight is not None:
                d_weight += float32_logits(narrow.T, hidden[part].T, None)
        ctx.gradients = (d_hidden, d_weight, d_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (scale,) = outputs
        scaled = [None if g is None else g * scale.to(g.dtype) for g in ctx.gradients]
        ctx.gradients = None
        return (*scaled, None, None)


class LossHead(nn.Linear):
    """An output head that returns the summed cross-entropy in nats, float32, and not the logits."""

    loss_chunk: int

    def forward(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Take hidden states of shape (..., hidden size) and targets of shape (...), where IGNORED does not count."""
        apply: Any = _ChunkedCrossEntropy.apply
        total: torch.Tensor = apply(hidden.flatten(0, -2), self.weight, self.bias, targets.flatten(), self.loss_chunk)
        return total


class CausalLMLoss(nn.Module):
    """A causal language model whose forward is its loss: as FSDP's root, it has the head inside the root's forward."""

    def __init__(self, model: PreTrainedModel, loss_chunk: int) -> None:
        super().__init__()
        head = model.get_output_embeddings()
        replaced = LossHead(head.in_features, head.out_features, bias=head.bias is not None, device="meta")
        replaced.weight, replaced.bias = head.weight, head.bias  # the same parameters: a tied head stays tied
        replaced.loss_chunk = loss_chunk
        model.set_output_embeddings(replaced)
        self.model = model

    def forward(self, input_ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the sum over all targets that count; ids and targets have the shape (sequences, tokens)."""
        hidden = self.model.base_model(input_ids=input_ids, use_cache=False).last_hidden_state
        total: torch.Tensor = self.model.get_output_embeddings()(hidden, targets)
        return total


def own_loss(model: PreTrainedModel, ids: torch.Tensor) -> tuple[float, float]:
    """Return the mean loss of `ids`, shape (sequences, tokens), by the model's own logits and as it is trained here.

    They differ for a model that does more with its head than multiply, such as scaling or capping the logits. The
    head's weights are enlarged for it: a cap does nothing to the small logits of a model that has not been trained.
    """
    head = model.get_output_embeddings()
    with torch.no_grad():
        head.weight *= LARGE
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits.float().flatten(0, 1)
        hidden = model.base_model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state.flatten(0, 1)
        here = float32_logits(hidden, head.weight, head.bias)
        head.weight /= LARGE
    targets = ids[:, 1:].flatten()
    return float(F.cross_entropy(logits, targets)), float(F.cross_entropy(here, targets))
