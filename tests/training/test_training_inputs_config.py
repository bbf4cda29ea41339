"""Each kind of nonsense that a config.json can hold."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.helpers import CONFIGS, MakeArguments, refused
from training.arguments import Arguments
from training.checks import check_inputs
from training.errors import InputError
from training.model import materialise, read_config
from training.model_config import refuse_config


@pytest.fixture
def with_config(arguments: MakeArguments, tmp_path: Path) -> MakeArguments:
    """Make arguments for a small Qwen2 with some of its config.json replaced."""

    def make(**changes: Any) -> Arguments:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(json.loads(CONFIGS["qwen2-tied"].to_json_string()) | changes))
        return arguments(model=str(path))

    return make


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        # What transformers checks.
        ("hidden_size", "64", "Field 'hidden_size' expected int, got str (value: '64')"),
        ("vocab_size", None, "Field 'vocab_size' expected int, got NoneType"),
        ("tie_word_embeddings", "false", "Field 'tie_word_embeddings' expected bool, got str (value: 'false')"),
        ("rms_norm_eps", "x", "Field 'rms_norm_eps' expected float"),
        ("max_position_embeddings", "x", "Field 'max_position_embeddings' expected int"),
        ("layer_types", ["full_attention"], "`num_hidden_layers` (2) must be equal to the number of `layer_types` (1)"),
        ("layer_types", ["other", "full_attention"], "but got ['other', 'full_attention']"),
        ("rope_parameters", "other", "Field 'rope_parameters' expected dict, got str (value: 'other')"),
        ("rope_parameters", {"rope_type": "yarn"}, "Missing required keys in `rope_parameters`"),
        ("quantization_config", "x", "'str' object has no attribute 'to_dict'"),
        ("id2label", 5, "'int' object has no attribute 'items'"),
        ("model_type", ["qwen2"], "unhashable type: 'list'"),
        # What it falls over.
        ("rope_parameters", {"rope_type": "other", "rope_theta": 1e4}, "KeyError: 'other', in `rope_init_fn = "),
        ("hidden_act", "other", "KeyError: 'other', in `self.act_fn = ACT2FN[config.hidden_act]`"),
        ("num_attention_heads", 0, "config.hidden_size // config.num_attention_heads"),
        ("num_key_value_heads", 0, "config.num_attention_heads // config.num_key_value_heads`"),
        ("vocab_size", -1, "negative dimension -1: [-1, 64], in `self.embed_tokens = nn.Embedding(config.vocab_size"),
        ("intermediate_size", -1, "nn.Linear(self.hidden_size, self.intermediate_size"),
        ("pad_token_id", 300, "Padding_idx must be within num_embeddings"),
    ],
)
def test_a_value_that_transformers_cannot_use(field: str, value: object, says: str, with_config: MakeArguments) -> None:
    args = with_config(**{field: value})
    named, model, expected, remedy = refused(args)
    assert (named, model) == ("model", args.model)
    assert expected == "a config.json that transformers can build and run a model from"
    assert remedy.startswith("Choose another model, or correct a local copy: ")
    assert says in remedy


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("num_key_value_heads", 3, "must match the size of tensor b (3)"),
        ("num_attention_heads", 3, "in `q_embed = "),
        ("initializer_range", -1.0, "normal expects std >= 0.0"),
    ],
)
def test_a_value_that_shows_with_the_weights_only(
    field: str, value: object, says: str, with_config: MakeArguments
) -> None:
    args = with_config(**{field: value})
    with pytest.raises(InputError) as error:
        materialise(args, read_config(args))
    assert (error.value.field, error.value.value) == ("model", args.model)
    assert says in error.value.remedy


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("size", ["vocab_size", "intermediate_size"])
def test_a_size_of_nothing(size: str, with_config: MakeArguments) -> None:
    args = with_config(**{size: 0})
    field, value, expected, remedy = refused(args)
    assert (field, value) == ("model", args.model)
    assert expected.endswith(" has the shape (0, 64)")
    assert remedy == "Choose another model, or correct a local copy: one of its sizes is 0."


@pytest.mark.parametrize(
    ("name", "dtype", "shown"),
    [
        ("dtype", "float8", "float8"),
        ("torch_dtype", "float8", "float8"),
        ("dtype", "torch.bfloat16", "torch.bfloat16"),
        ("dtype", "float8_e4m3fn", "torch.float8_e4m3fn"),
        ("dtype", "int8", "torch.int8"),
        ("dtype", "Tensor", "<class 'torch.Tensor'>"),
        ("dtype", 5, "5"),
        ("dtype", {"": "float32"}, "{'': 'float32'}"),
    ],
)
def test_a_dtype_that_float32_weights_are_not_made_from(
    name: str, dtype: object, shown: str, with_config: MakeArguments
) -> None:
    args = with_config(**{name: dtype})
    assert refused(args) == (
        "model",
        args.model,
        f"a dtype of bfloat16 or float16 or float32 or float64 in its config.json, and it is {shown}",
        "Choose another model, or correct a local copy.",
    )


@pytest.mark.parametrize("dtype", [None, "bfloat16", "float16", "float32", "float64"])
def test_a_dtype_that_weights_are_saved_in(dtype: str | None, with_config: MakeArguments) -> None:
    check_inputs(with_config(dtype=dtype))


def test_quantised_weights(with_config: MakeArguments) -> None:
    args = with_config(quantization_config={"quant_method": "awq", "bits": 4})
    field, value, expected, remedy = refused(args)
    assert (field, value) == ("model", args.model)
    assert expected == "weights that are not quantised, and its config.json has a quantization_config"
    assert remedy == "Choose the model that it was made from."


@pytest.mark.parametrize(
    "said", ["[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory", ""]
)
def test_too_little_memory_is_no_fault_of_the_config(said: str) -> None:
    error = RuntimeError(said) if said else torch.OutOfMemoryError()
    with pytest.raises(type(error)), refuse_config("model"):
        raise error
