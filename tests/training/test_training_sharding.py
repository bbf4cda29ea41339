"""Sharding and loading leave the model what it was."""

from pathlib import Path

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from tests.training.helpers import CONFIGS, MakeArguments, save_tokenizer
from training.errors import InputError
from training.loop import sharded_model
from training.model import build_on_meta, materialise, read_config
from training.sharding import check_unchanged, count_parameters, decoder_layers, is_tied, load, shard

CPU = torch.device("cpu")


def reference(config: PretrainedConfig) -> PreTrainedModel:
    torch.manual_seed(7)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return model


def sharded(config: PretrainedConfig, source: PreTrainedModel) -> PreTrainedModel:
    model = build_on_meta(config)
    shard(model, init_device_mesh("cpu", (1,)), torch.float32)
    load(model, source, CPU)
    return model


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sharded_model_is_the_model(name: str, process_group: None) -> None:
    config, ids = CONFIGS[name], torch.arange(40).reshape(2, 20)
    source = reference(config)
    model = sharded(config, source)

    assert is_tied(model) == config.tie_word_embeddings
    assert count_parameters(model) == count_parameters(source)
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    layers = [name for name, module in source.named_modules() if module in set(decoder_layers(source))]
    assert len(layers) == 2
    assert all(isinstance(model.get_submodule(name), FSDPModule) for name in layers)
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids).logits, source(input_ids=ids).logits)


def test_the_tied_embedding_is_one_group_that_stays_gathered_after_forward(process_group: None) -> None:
    model = sharded(CONFIGS["qwen2-tied"], reference(CONFIGS["qwen2-tied"]))
    model(input_ids=torch.arange(20).reshape(1, 20))
    for module in (model.get_input_embeddings(), model.get_output_embeddings(), model.model.norm):
        assert not isinstance(module.weight, DTensor)
    assert isinstance(model.model.layers[0].mlp.up_proj.weight, DTensor)


def test_rope_frequencies_are_right_after_load(process_group: None) -> None:
    source = reference(CONFIGS["llama"])
    model = build_on_meta(CONFIGS["llama"])
    shard(model, init_device_mesh("cpu", (1,)), torch.bfloat16)
    load(model, source, CPU)
    # theta ** (-2 i / head size), the definition; in float32 whatever the compute dtype.
    expected = 10000.0 ** -(torch.arange(0, 16, 2).float() / 16)
    buffers = dict(model.named_buffers())
    assert buffers["model.rotary_emb.inv_freq"].dtype == torch.float32
    torch.testing.assert_close(buffers["model.rotary_emb.inv_freq"], expected)
    torch.testing.assert_close(buffers["model.rotary_emb.original_inv_freq"], expected)


def test_masters_and_reduction_are_float32_when_compute_is_bfloat16(process_group: None) -> None:
    model = build_on_meta(CONFIGS["qwen2-tied"])
    shard(model, init_device_mesh("cpu", (1,)), torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    sharded_modules = [module for module in model.modules() if isinstance(module, FSDPModule)]
    assert len(sharded_modules) == 2 + 3 + 1  # layers; embedding, norm, head; root
    # FSDP2 shows its policy nowhere else, and in one process the reduction changes no number.
    policies = {module._get_fsdp_state()._mp_policy for module in sharded_modules}
    assert {(policy.param_dtype, policy.reduce_dtype) for policy in policies} == {(torch.bfloat16, torch.float32)}


def test_buffers_that_are_not_finite_are_refused(process_group: None) -> None:
    source = reference(CONFIGS["llama"])
    source.model.rotary_emb.inv_freq[0] = torch.nan
    with pytest.raises(AssertionError, match=r"model\.rotary_emb\.inv_freq is not finite"):
        sharded(CONFIGS["llama"], source)


def test_a_saved_folder_gives_the_logits_of_transformers(
    arguments: MakeArguments, tmp_path: Path, process_group: None
) -> None:
    folder, ids = tmp_path / "saved", torch.arange(40).reshape(2, 20)
    # Saved in bfloat16, as most published models are: it must be read into float32.
    reference(CONFIGS["qwen2-tied"]).bfloat16().save_pretrained(folder)
    save_tokenizer(folder)
    args = arguments(model=str(folder))

    model = sharded_model(args, read_config(args), CPU)

    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    expected = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids).logits, expected(input_ids=ids).logits)


def test_a_folder_is_loaded_with_its_weights_and_a_config_file_is_not(arguments: MakeArguments, tmp_path: Path) -> None:
    source = reference(CONFIGS["qwen2-tied"])
    source.save_pretrained(tmp_path)
    from_folder = arguments(model=str(tmp_path))
    from_config = arguments(model=str(tmp_path / "config.json"), seed=8)
    name = "model.embed_tokens.weight"
    loaded = materialise(from_folder, read_config(from_folder)).get_parameter(name)
    drawn = materialise(from_config, read_config(from_config)).get_parameter(name)
    assert torch.equal(loaded, source.get_parameter(name))
    assert not torch.equal(drawn, source.get_parameter(name))


def test_a_model_without_recognisable_layers_is_refused() -> None:
    model = build_on_meta(CONFIGS["llama"])
    model._no_split_modules = ["SomethingElse"]
    with pytest.raises(InputError) as error:
        decoder_layers(model)
    assert (error.value.field, error.value.value) == ("model", "LlamaForCausalLM")
    assert "['SomethingElse']" in error.value.expected


def test_an_untied_embedding_is_noticed() -> None:
    model = build_on_meta(CONFIGS["qwen2-tied"])
    before = count_parameters(model)
    check_unchanged(model, before, tied=True)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.clone())
    with pytest.raises(RuntimeError, match=rf"\({before}, True\) and are \({before + 300 * 64}, False\)"):
        check_unchanged(model, before, tied=True)
