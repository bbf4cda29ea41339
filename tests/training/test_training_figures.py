"""Figures against arithmetic done by hand."""

import pytest
from transformers import Qwen2Config

from training.figures import model_flops_per_token, percentile, speed

# Qwen2.5-1.5B, as its config.json has it.
QWEN = Qwen2Config(
    hidden_size=1536,
    num_hidden_layers=28,
    num_attention_heads=12,
    num_key_value_heads=2,
    intermediate_size=8960,
    vocab_size=151_936,
    tie_word_embeddings=True,
)
PARAMETERS = 1_543_714_304


def test_flops_per_token() -> None:
    # 6 x 1.5437e9 and, for causal attention, 6 x 28 layers x 1536 x 2048.
    assert model_flops_per_token(QWEN, PARAMETERS, 2048) == pytest.approx(9.79e9, rel=1e-3)
    untied = Qwen2Config(**QWEN.to_dict() | {"tie_word_embeddings": False})
    # The second matrix of that size is a look-up, which costs nothing.
    tied = model_flops_per_token(QWEN, PARAMETERS, 2048)
    assert model_flops_per_token(untied, PARAMETERS + 151_936 * 1536, 2048) == tied


@pytest.mark.parametrize(("values", "p95"), [([1.0], 1.0), (list(range(1, 21)), 19), (list(range(1, 101)), 95)])
def test_the_95th_percentile(values: list[float], p95: float) -> None:
    assert percentile(values[::-1], 0.95) == p95


def test_speed() -> None:
    found = speed([3.0, 2.0, 40.0], 131_072, 8, 9.79e9, 55e12, 121e12, 9.55)
    tokens = 131_072 / 3
    assert found["tokens_per_second"] == pytest.approx(tokens)
    assert found["step_seconds"] == {"median": 3.0, "p95": 40.0}
    # At 44 thousand tokens a second eight L4s do 45 % of their nominal peak.
    assert found["mfu"]["of_nominal_peak"] == pytest.approx(tokens * 9.79e9 / 8 / 121e12)
    assert 0.44 < found["mfu"]["of_nominal_peak"] < 0.45
    assert found["mfu"]["of_measured_gemm"] == pytest.approx(tokens * 9.79e9 / 8 / 55e12)
    assert found["usd_per_million_tokens"] == pytest.approx(9.55 / (tokens * 3600) * 1e6)
    without = speed([3.0], 131_072, 8, 9.79e9, 55e12, None, None)
    assert (without["mfu"]["of_nominal_peak"], without["usd_per_million_tokens"]) == (None, None)
