"""The plan's activations equal what autograd keeps on the CPU; its peak is near what torch's tracker counts there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PretrainedConfig, Qwen2Config

from tests.training.helpers import ROOT
from tests.training.peak_ranks import CONFIG, LOSS_CHUNK
from tests.training.peak_ranks import TOKENS as PEAK_TOKENS
from training.plan_memory import memory, saved_per_token
from training.plan_model import read_model

WIDTHS: dict[str, Any] = {
    "vocab_size": 301,
    "hidden_size": 192,
    "intermediate_size": 640,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
}
TOKENS = 128


def saved_bytes(config: PretrainedConfig, dtype: torch.dtype, *, checkpointing: bool) -> int:
    """Bytes that the blocks' forward keeps for backward, parameters apart."""
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    if checkpointing:
        model.activation_checkpointing_enable()
    model.train()
    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    inputs = torch.randn(1, TOKENS, WIDTHS["hidden_size"], dtype=dtype, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model.base_model(inputs_embeds=inputs, use_cache=False).last_hidden_state
    del output
    return sum(kept.values())


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 4), (torch.bfloat16, 2)])
@pytest.mark.parametrize("family", [Qwen2Config, LlamaConfig])
def test_what_a_block_keeps_is_exact(family: Any, dtype: torch.dtype, width: int) -> None:
    # The difference of one block: what the embedding and the last norm keep cancels.
    two, three = (
        saved_bytes(family(num_hidden_layers=layers, **WIDTHS), dtype, checkpointing=False) for layers in (2, 3)
    )
    model = read_model(WIDTHS | {"model_type": family.model_type, "num_hidden_layers": 3})
    assert three - two == saved_per_token(model, width) * TOKENS


def test_with_full_checkpointing_a_block_keeps_its_input() -> None:
    two, three = (
        saved_bytes(Qwen2Config(num_hidden_layers=layers, **WIDTHS), torch.float32, checkpointing=True)
        for layers in (2, 3)
    )
    model = read_model(WIDTHS | {"model_type": "qwen2", "num_hidden_layers": 3})
    planned = memory(
        model, layout="full", nodes=1, per_node=1, tokens=TOKENS, checkpointing="full", compute_width=4
    ).activations
    assert three - two == planned / 3


PEAK_CASES: list[dict[str, Any]] = [
    {"reshard": reshard, "checkpointing": checkpointing}
    for reshard in (True, False)
    for checkpointing in ("off", "selective", "full")
]
# What plan_memory.memory's docstring states.
STATED_ERROR = 0.05


def test_the_peak_is_within_its_stated_error_of_torchs_tracker(tmp_path: Path) -> None:
    tasks = tmp_path / "cases.json"
    tasks.write_text(json.dumps(PEAK_CASES))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("peak_ranks.py")), str(tasks)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counted = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    model = read_model(CONFIG | {"model_type": "qwen2"})
    ratios = {}
    for case, found in zip(PEAK_CASES, counted, strict=True):
        planned = memory(model, layout="full", nodes=1, per_node=2, tokens=PEAK_TOKENS, loss_chunk=LOSS_CHUNK, **case)
        # A CPU multiplies in float32, so it copies a chunk's gradient and hidden states; CUDA does not.
        copies = 4 * LOSS_CHUNK * (model.vocabulary + model.hidden)
        peak = max(planned.at_loss + copies, planned.at_first_backward, planned.at_last_backward)
        ratios[tuple(case.values())] = peak / found["peak"]
    assert all(abs(ratio - 1) <= STATED_ERROR for ratio in ratios.values()), ratios
