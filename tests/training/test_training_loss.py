"""The chunked loss is the loss, in float32 and in bfloat16."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)

from training.loss import IGNORED, LossHead

TOKENS, HIDDEN, VOCABULARY = 1000, 192, 1000


def inputs(dtype: torch.dtype) -> tuple[torch.Tensor, LossHead, torch.Tensor]:
    torch.manual_seed(0)
    head = LossHead(HIDDEN, VOCABULARY, bias=True, dtype=dtype)
    with torch.no_grad():
        head.weight.normal_(std=0.3)
    hidden = torch.randn(4, TOKENS // 4, HIDDEN).to(dtype).requires_grad_()
    targets = torch.randint(0, VOCABULARY, (4, TOKENS // 4))
    targets[:, ::7] = IGNORED
    return hidden, head, targets


def reference(hidden: torch.Tensor, head: LossHead, targets: torch.Tensor) -> torch.Tensor:
    """All logits at once, in float32, from the same values."""
    logits = hidden.float() @ head.weight.float().T + head.bias.float()
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")


@pytest.mark.parametrize("chunk", [33, 250, 1000, 4096])
def test_any_chunk_gives_the_loss_and_the_gradients_of_all_at_once(chunk: int) -> None:
    hidden, head, targets = inputs(torch.float32)
    head.loss_chunk = chunk
    leaves = (hidden, head.weight, head.bias)
    expected = reference(hidden, head, targets)
    wanted = torch.autograd.grad(expected * 0.5, leaves)
    total = head(hidden, targets)
    found = torch.autograd.grad(total * 0.5, leaves)
    torch.testing.assert_close(total, expected)
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_in_bfloat16_the_loss_is_that_of_float32_logits() -> None:
    hidden, head, targets = inputs(torch.bfloat16)
    head.loss_chunk = 64
    count = int((targets != IGNORED).sum())
    total = head(hidden, targets)
    assert total.dtype == torch.float32
    assert float(total.detach()) / count == pytest.approx(
        float(reference(hidden, head, targets).detach()) / count, abs=1e-3
    )
    # torch's own chunked loss rounds the sum to bfloat16.
    options = torch.nn.LinearCrossEntropyOptions()
    theirs = F.linear_cross_entropy(
        hidden.flatten(0, 1),
        head.weight,
        targets.flatten(),
        linear_bias=head.bias,
        reduction="sum",
        ignore_index=IGNORED,
        options=options,
    )
    assert abs(float(theirs.detach()) - float(total.detach())) / count > 1e-3


def test_gradients_in_bfloat16_lose_no_more_than_its_rounding() -> None:
    hidden, head, targets = inputs(torch.bfloat16)
    head.loss_chunk = 16
    leaves = (hidden, head.weight)
    found = torch.autograd.grad(head(hidden, targets), leaves)
    wanted = torch.autograd.grad(reference(hidden, head, targets), leaves)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == torch.bfloat16
        error = (mine.float() - theirs.float()).norm() / theirs.float().norm()
        assert error < 2**-7


def test_without_gradients_none_are_computed() -> None:
    hidden, head, targets = inputs(torch.float32)
    head.loss_chunk = 64
    with torch.no_grad():
        total = head(hidden, targets)
    assert not total.requires_grad
    torch.testing.assert_close(total, reference(hidden, head, targets))
