"""Each thing that can be wrong with the model and its tokenizer."""

import json
from pathlib import Path

import pytest

from tests.training.helpers import CONFIGS, VOCABULARY, MakeArguments, refused, save_tokenizer
from training.checks import check_inputs
from training.errors import InputError
from training.model import materialise


@pytest.mark.parametrize("model", ["/no/such/folder", "./missing", "missing", "/no/such/config.json"])
def test_a_model_that_does_not_exist(model: str, arguments: MakeArguments) -> None:
    field, value, expected, remedy = refused(arguments(model=model))
    assert (field, value) == ("model", model)
    assert expected == "a hub id org/name, a folder saved by transformers, or a config .json file"
    assert remedy.startswith("There is no such ")


def test_weights_that_are_no_safetensors(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["llama"].save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    args = arguments(model=str(tmp_path))
    with pytest.raises(InputError, match=r"--model .* with a readable weights"):
        materialise(args, CONFIGS["llama"])


def test_a_folder_without_weights(arguments: MakeArguments, models_folder: Path) -> None:
    field, value, expected, remedy = refused(arguments(model=str(models_folder / "llama")))
    assert (field, value) == ("model", str(models_folder / "llama"))
    assert "*.safetensors" in expected
    assert "save_pretrained" in remedy
    assert "config.json" in remedy


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "not a valid JSON file"),
        ("{}", "model_type"),
        (json.dumps({"model_type": "unheard-of"}), "unheard-of"),
        (CONFIGS["llama"].to_json_string().replace('"llama"', '"vit"'), "ViT"),
    ],
)
def test_a_config_that_is_no_causal_language_model(
    config: str, says: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(config)
    field, _, expected, remedy = refused(arguments(model=str(tmp_path / "config.json")))
    assert field == "model"
    assert says in remedy
    assert "configuration" in expected or "causal language model" in expected


def test_a_hub_model_that_cannot_be_read(arguments: MakeArguments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    field, value, expected, remedy = refused(arguments(model="no-such-organisation/model", revision="abc"))
    assert (field, value) == ("model", "no-such-organisation/model")
    assert expected.endswith("with a readable configuration")
    assert "Check the name at revision abc, the network and HF_TOKEN" in remedy


def test_a_revision_of_a_local_model(arguments: MakeArguments) -> None:
    field, value, expected, remedy = refused(arguments(revision="abc"))
    assert (field, value) == ("revision", "abc")
    assert expected == "no revision for a local model"
    assert "hub id" in remedy


def test_a_sequence_longer_than_the_context(arguments: MakeArguments) -> None:
    field, value, expected, _ = refused(arguments(sequence_length=257))
    assert (field, value) == ("sequence-length", "257")
    assert expected.startswith("at most the 256 positions of ")
    check_inputs(arguments(sequence_length=256))


@pytest.mark.parametrize("architecture", ["qwen2-tied", "gpt-neox", "opt"])
def test_a_tokenizer_that_is_missing(architecture: str, arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS[architecture].save_pretrained(tmp_path)
    field, value, expected, remedy = refused(arguments(model=str(tmp_path / "config.json"), data="stdlib"))
    assert (field, value) == ("model", str(tmp_path / "config.json"))
    assert "tokenizer" in expected
    assert "missing" in remedy or "transformers says" in remedy


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": {"type": "Other"}}, "data did not match any variant"),
        ({"model": None}, "'NoneType' object has no attribute 'get'"),
        ({"added_tokens": 5}, "'int' object is not iterable"),
    ],
)
def test_a_tokenizer_that_cannot_be_read(
    changes: dict[str, object], says: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    CONFIGS["qwen2-tied"].save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    field, value, expected, remedy = refused(arguments(model=str(tmp_path / "config.json"), data="stdlib"))
    assert (field, value) == ("model", str(tmp_path / "config.json"))
    assert expected.endswith("with a readable tokenizer")
    assert says in remedy


def test_a_tokenizer_of_another_model(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["qwen2-tied"].save_pretrained(tmp_path)
    args = arguments(model=str(tmp_path / "config.json"), data="stdlib")
    save_tokenizer(tmp_path, size=VOCABULARY)
    check_inputs(args)
    save_tokenizer(tmp_path, size=VOCABULARY + 1)
    field, value, expected, remedy = refused(args)
    assert (field, value) == ("model", str(tmp_path / "config.json"))
    assert expected == "a tokenizer whose ids lie below the model's vocab_size 300, and it has 301 of them"
    assert "tokenizer.json" in remedy
