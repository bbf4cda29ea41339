"""The stand-in model, and what counts as a good result."""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from rehearsal.errors import RehearsalError
from rehearsal.results import MINIMUM_LOSS_FALL, Results, check_results, check_saved, read_results
from rehearsal.shape import Shape
from rehearsal.stand_in_model import write_stand_in_model


def test_the_stand_in_model_loads_and_its_tokenizer_loses_nothing(tmp_path: Path) -> None:
    config_file = write_stand_in_model(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(config_file.parent)
    text = "def f(x):\n\treturn  'é ☃ 𝄞'\r\n"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(ids) == len(text.encode())
    assert tokenizer.decode(ids) == text
    assert tokenizer.eos_token == "<|endoftext|>"
    config = AutoConfig.from_pretrained(config_file)
    assert config.vocab_size == len(tokenizer) == 259
    model = AutoModelForCausalLM.from_config(config)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert 1.5e6 < sum(parameter.numel() for parameter in model.parameters()) < 2.5e6


def _results(**changes: Any) -> Results:
    result = {"first_loss": 5.0, "last_loss": 3.0, "world_size": 8, "mesh": "hsdp 2 x 4", "parameters": 1}
    result |= {"tokens_per_second": 2.0, "transport": {"verdict": "SOCKET", "bytes": {"steps": 0, "why": "none"}}}
    return Results(result | changes, [{"step": 1, "loss": 5.0}, {"step": 2, "loss": 3.0}])


def test_results_are_good_when_the_loss_fell_and_nobody_was_left_out() -> None:
    check_results(_results(), Shape(2, 4), 4)
    check_results(_results(last_loss=5.0 * (1 - MINIMUM_LOSS_FALL)), Shape(2, 4), 4)
    check_results(_results(world_size=4, mesh="full over 4"), Shape(1, 4), 4)
    check_results(_results(mesh="full over 8"), Shape(2, 4), None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"world_size": 4}, "world size in result.json: 4"),
        ({"mesh": "full over 8"}, "mesh in result.json: full over 8"),
        ({"last_loss": 4.9}, "last loss: 4.9000, and the first was 5.0000"),
        ({"last_loss": float("nan")}, "last loss: nan"),
    ],
)
def test_results_that_show_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RehearsalError, match=message):
        check_results(_results(**changes), Shape(2, 4), 4)


def test_missing_or_incomplete_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"result\.json"):
        read_results(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps({"status": "running"}))
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 5.0}\n')
    with pytest.raises(RehearsalError, match="first_loss"):
        read_results(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps(_results().result))
    assert read_results(tmp_path).losses == [5.0]


def test_a_run_without_checkpoint_or_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="checkpoints in "):
        check_saved(tmp_path)
    (tmp_path / "checkpoints" / "step-00000020").mkdir(parents=True)
    with pytest.raises(RehearsalError, match="none that is whole"):
        check_saved(tmp_path)
    (tmp_path / "checkpoints" / "step-00000020" / "complete.json").write_text("{}")
    with pytest.raises(RehearsalError, match="a model that from_pretrained loads"):
        check_saved(tmp_path)
    AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(write_stand_in_model(tmp_path / "config"))
    ).save_pretrained(tmp_path / "model")
    check_saved(tmp_path)
