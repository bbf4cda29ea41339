"""Sharding and loading leave the model what it was."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, Gemma2Config, PretrainedConfig, PreTrainedModel

from tests.training.conftest import defaults
from tests.training.helpers import COMMON, CONFIGS, MakeArguments, save_tokenizer
from training.errors import InputError
from training.loss import CausalLMLoss
from training.mesh import build_mesh
from training.model import build_on_meta, materialise, read_config
from training.ranks import Ranks
from training.setup import sharded_model
from training.sharding import check_unchanged, count_parameters, decoder_layers, is_tied, load, parallelise

CPU = torch.device("cpu")
IDS = torch.arange(42).reshape(2, 21)


def reference(config: PretrainedConfig) -> PreTrainedModel:
    torch.manual_seed(7)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return model


def sharded(config: PretrainedConfig, source: PreTrainedModel, **changes: object) -> CausalLMLoss:
    args = dataclasses.replace(defaults(Path(), "out"), **changes)  # type: ignore[arg-type]
    root = parallelise(build_on_meta(config), init_device_mesh("cpu", (1,)), args)
    load(root.model, source, CPU)
    return root


def mean_loss(root: CausalLMLoss) -> float:
    with torch.no_grad():
        return float(root(IDS[:, :-1], IDS[:, 1:])) / IDS[:, 1:].numel()


def own_mean_loss(model: PreTrainedModel) -> float:
    with torch.no_grad():
        logits = model(input_ids=IDS[:, :-1]).logits
    return float(torch.nn.functional.cross_entropy(logits.flatten(0, 1), IDS[:, 1:].flatten()))


@pytest.mark.failure_mode("G6")
@pytest.mark.failure_mode("G8")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_sharded_model_is_the_model(name: str, process_group: None) -> None:
    config = CONFIGS[name]
    source = reference(config)
    root = sharded(config, source)
    model = root.model

    assert is_tied(model) == config.tie_word_embeddings
    assert count_parameters(root) == count_parameters(source)
    assert all(isinstance(parameter, DTensor) for parameter in root.parameters())
    assert all(parameter.dtype == torch.float32 for parameter in root.parameters())
    layers = [name for name, module in source.named_modules() if module in set(decoder_layers(source))]
    assert len(layers) == 2
    assert all(isinstance(model.get_submodule(name), FSDPModule) for name in layers)
    assert mean_loss(root) == pytest.approx(own_mean_loss(source), abs=1e-6)


@pytest.mark.failure_mode("G7")
def test_the_tied_embedding_is_one_group_that_stays_gathered_after_forward(process_group: None) -> None:
    root = sharded(CONFIGS["qwen2-tied"], reference(CONFIGS["qwen2-tied"]))
    root(IDS[:, :-1], IDS[:, 1:])
    model = root.model
    for module in (model.get_input_embeddings(), model.get_output_embeddings(), model.model.norm):
        assert not isinstance(module.weight, DTensor)
    assert isinstance(model.model.layers[0].mlp.up_proj.weight, DTensor)


def test_layers_may_stay_gathered_too(process_group: None) -> None:
    config = CONFIGS["qwen2-tied"]
    root = sharded(config, reference(config), reshard_after_forward=False)
    root(IDS[:, :-1], IDS[:, 1:])
    assert not isinstance(root.model.model.layers[0].mlp.up_proj.weight, DTensor)


def test_rope_frequencies_are_right_after_load(process_group: None) -> None:
    root = sharded(CONFIGS["llama"], reference(CONFIGS["llama"]), compute_dtype="bfloat16")
    # theta ** (-2 i / head size), the definition; in float32 whatever the compute dtype.
    expected = 10000.0 ** -(torch.arange(0, 16, 2).float() / 16)
    buffers = dict(root.model.named_buffers())
    assert buffers["model.rotary_emb.inv_freq"].dtype == torch.float32
    torch.testing.assert_close(buffers["model.rotary_emb.inv_freq"], expected)
    torch.testing.assert_close(buffers["model.rotary_emb.original_inv_freq"], expected)


@pytest.mark.failure_mode("G9")
@pytest.mark.parametrize("reduce_dtype", ["float32", "bfloat16"])
def test_masters_are_float32_when_compute_is_bfloat16(reduce_dtype: str, process_group: None) -> None:
    config = CONFIGS["qwen2-tied"]
    root = sharded(config, reference(config), compute_dtype="bfloat16", reduce_dtype=reduce_dtype)
    assert {parameter.dtype for parameter in root.parameters()} == {torch.float32}
    sharded_modules = [module for module in root.modules() if isinstance(module, FSDPModule)]
    assert len(sharded_modules) == 2 + 3 + 1  # layers; embedding, norm, head; root
    # FSDP2 shows its policy nowhere else, and in one process the reduction changes no number.
    policies = {module._get_fsdp_state()._mp_policy for module in sharded_modules}
    wanted = (torch.bfloat16, getattr(torch, reduce_dtype))
    assert {(policy.param_dtype, policy.reduce_dtype) for policy in policies} == {wanted}


def test_compiling_is_asked_for_each_layer_and_changes_no_loss(
    process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dynamo traces each layer; the code generator, which takes half a minute here, is left out."""
    compiled: list[str] = []
    compile_module = torch.nn.Module.compile

    def with_eager(self: torch.nn.Module, *args: object, **kwargs: object) -> None:
        compiled.append(type(self).__name__)
        compile_module(self, backend="eager")

    monkeypatch.setattr(torch.nn.Module, "compile", with_eager)
    source = reference(CONFIGS["qwen2-tied"])
    root = sharded(CONFIGS["qwen2-tied"], source, compile=True)
    assert compiled == ["Qwen2DecoderLayer"] * 2
    assert mean_loss(root) == pytest.approx(own_mean_loss(source), abs=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
    sharded(CONFIGS["qwen2-tied"], source)
    assert len(compiled) == 2


def saved_bytes(mode: str) -> int:
    """Bytes that the forward keeps for the backward, outside of parameters."""
    root = sharded(CONFIGS["qwen2-tied"], reference(CONFIGS["qwen2-tied"]), activation_checkpointing=mode)
    held = 0

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal held
        held += tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        root(IDS[:, :-1], IDS[:, 1:])
    return held


def test_activation_checkpointing_keeps_less(process_group: None) -> None:
    assert saved_bytes("full") < 0.3 * saved_bytes("off")


class Products(TorchDispatchMode):
    """Counts matrix products."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += operation in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
        return operation(*args, **(kwargs or {}))


def products(mode: str) -> tuple[int, int]:
    """Matrix products of the forward, and of the backward."""
    root = sharded(CONFIGS["qwen2-tied"], reference(CONFIGS["qwen2-tied"]), activation_checkpointing=mode)
    with Products() as forward:
        loss = root(IDS[:, :-1], IDS[:, 1:])
    with Products() as backward:
        loss.backward()
    return forward.count, backward.count


def test_selective_checkpointing_computes_every_second_product_again(process_group: None) -> None:
    of_head = 3  # computed in the forward, with its gradients, and never again
    forward, backward = products("off")
    again = {mode: products(mode)[1] - backward for mode in ("selective", "full")}
    in_layers = forward - of_head
    assert in_layers == 2 * 7  # q, k, v, o, gate, up, down in each
    # The last product of a layer is not needed again, for nothing in its backward uses it.
    assert again["full"] in (in_layers, in_layers - 2)
    assert 0.3 * in_layers < again["selective"] < 0.6 * in_layers


def test_activation_checkpointing_of_a_model_without_it_is_refused(process_group: None) -> None:
    model = build_on_meta(CONFIGS["llama"])
    model.supports_gradient_checkpointing = False
    args = dataclasses.replace(defaults(Path(), "out"), activation_checkpointing="full")
    with pytest.raises(InputError, match="--activation-checkpointing full: expected off, for transformers cannot"):
        parallelise(model, init_device_mesh("cpu", (1,)), args)


def test_buffers_that_are_not_finite_are_refused(process_group: None) -> None:
    source = reference(CONFIGS["llama"])
    source.model.rotary_emb.inv_freq[0] = torch.nan
    with pytest.raises(AssertionError, match=r"model\.rotary_emb\.inv_freq is not finite"):
        sharded(CONFIGS["llama"], source)


def test_a_saved_folder_gives_the_loss_of_transformers(
    arguments: MakeArguments, tmp_path: Path, process_group: None
) -> None:
    folder = tmp_path / "saved"
    # Saved in bfloat16, as most published models are: it must be read into float32.
    reference(CONFIGS["qwen2-tied"]).bfloat16().save_pretrained(folder)
    save_tokenizer(folder)
    args = arguments(model=str(folder))

    root = sharded_model(args, read_config(args), CPU, Ranks(), build_mesh(args, CPU))

    assert {parameter.dtype for parameter in root.parameters()} == {torch.float32}
    expected = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    assert mean_loss(root) == pytest.approx(own_mean_loss(expected), abs=1e-6)


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


def test_a_model_that_does_more_with_its_head_is_refused(arguments: MakeArguments, tmp_path: Path) -> None:
    Gemma2Config(
        **COMMON, intermediate_size=128, num_key_value_heads=2, head_dim=16, final_logit_softcapping=30.0
    ).save_pretrained(tmp_path)
    args = arguments(model=str(tmp_path / "config.json"))
    with pytest.raises(InputError, match="scales or caps its logits"):
        materialise(args, read_config(args))


def test_an_untied_embedding_is_noticed() -> None:
    model = build_on_meta(CONFIGS["qwen2-tied"])
    before = count_parameters(model)
    check_unchanged(model, before, tied=True)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.clone())
    with pytest.raises(RuntimeError, match=rf"\({before}, True\) and are \({before + 300 * 64}, False\)"):
        check_unchanged(model, before, tied=True)
