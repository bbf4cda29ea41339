"""The planner reproduces the design's figures for Qwen2.5-1.5B on two g6.12xlarge."""

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from training.errors import InputError
from training.plan import MIB, Assumptions, Batch, Cluster, Gpu, Recipe, choose, plan
from training.plan_bytes import Traffic, bytes_per_link_in_node, bytes_per_node
from training.plan_memory import memory
from training.plan_model import QWEN2_5_1_5B, Group, Model, read_model

QWEN = read_model(QWEN2_5_1_5B)
# As the published figures count: every group gathered twice, also the last one.
ALL_TWICE = dataclasses.replace(QWEN, ends=tuple(Group(group.shapes) for group in QWEN.ends))
NODES = (2, 4)
# 242e12 with sparsity by NVIDIA's datasheet, half of it dense, at boost clock; memory as EC2 reports it.
L4 = Gpu(name="L4", memory=22_888 * MIB, peak=121e12)
G6 = Cluster(gpu=L4, nodes=2, gpus_per_node=4, network=3e9, usd_per_hour=9.55)
DEFAULT = Batch(sequence_length=2048, micro_batch=4, micro_batches=2)


def gigabytes(model: Model, traffic: Traffic) -> float:
    return bytes_per_node(model, traffic, *NODES) / 1e9


def test_the_parameters_are_those_of_the_real_model() -> None:
    assert QWEN.parameters == 1_543_714_304
    assert [group.parameters for group in QWEN.blocks] == [46_797_824] * 28
    assert QWEN.ends[0].parameters == 233_373_696 + 1536


@pytest.mark.parametrize("micro_batches", [1, 2, 4])
def test_bytes_across_nodes(micro_batches: int) -> None:
    full = Traffic(layout="full", micro_batches=micro_batches)
    hsdp = Traffic(layout="hsdp", micro_batches=micro_batches)
    assert gigabytes(ALL_TWICE, full) == pytest.approx(10.81 * micro_batches, abs=0.02)
    assert gigabytes(QWEN, dataclasses.replace(full, reshard=False)) == pytest.approx(8.10 * micro_batches, abs=0.02)
    assert gigabytes(QWEN, hsdp) == pytest.approx(6.17, abs=0.01)
    assert gigabytes(QWEN, dataclasses.replace(hsdp, reduce_width=2)) == pytest.approx(3.09, abs=0.01)
    # What the last group saves by staying gathered: one gather of the embedding and the norm of seven eighths.
    saved = micro_batches * QWEN.ends[0].parameters * 2 * 7 / 8 / 1e9
    assert gigabytes(ALL_TWICE, full) - gigabytes(QWEN, full) == pytest.approx(saved, rel=1e-9)


def test_bytes_of_the_samples_recipe() -> None:
    untied = read_model(QWEN2_5_1_5B | {"tie_word_embeddings": False})
    assert untied.parameters == pytest.approx(1.777e9, rel=1e-3)
    # bfloat16 throughout, full shards over all ranks, everything gathered twice.
    sample = dataclasses.replace(untied, ends=tuple(Group(group.shapes) for group in untied.ends))
    assert gigabytes(sample, Traffic(layout="full", reduce_width=2)) == pytest.approx(9.33, abs=0.01)


def test_one_node_sends_nothing_out() -> None:
    for layout in ("full", "hsdp"):
        assert bytes_per_node(QWEN, Traffic(layout=layout), 1, 4) == 0.0


def test_bytes_inside_a_node() -> None:
    hsdp = Traffic(layout="hsdp")
    assert bytes_per_link_in_node(ALL_TWICE, hsdp, *NODES) / 1e9 == pytest.approx(9.26, abs=0.01)
    assert bytes_per_link_in_node(QWEN, dataclasses.replace(hsdp, reshard=False), *NODES) / 1e9 == pytest.approx(
        6.95, abs=0.01
    )


def test_operations_per_token() -> None:
    assert QWEN.flops_per_token(2048) / 1e9 == pytest.approx(9.79, abs=0.005)
    assert QWEN.flops_per_token(2048, recompute=True) / 1e9 == pytest.approx(12.59, abs=0.005)
    assert L4.peak / QWEN.flops_per_token(2048) == pytest.approx(12_359, rel=1e-3)
    # An untied embedding adds parameters but no operations.
    untied = read_model(QWEN2_5_1_5B | {"tie_word_embeddings": False})
    assert untied.flops_per_token(2048) == QWEN.flops_per_token(2048)


@pytest.mark.parametrize(
    ("utilisation", "per_second", "usd"), [(0.30, 29_661, 0.09), (0.45, 44_491, 0.060), (0.55, 54_378, 0.049)]
)
def test_tokens_per_second_and_dollars_when_only_computing(utilisation: float, per_second: int, usd: float) -> None:
    fast = dataclasses.replace(G6, network=1e15)
    assume = Assumptions(utilisation=utilisation, in_node=1e15)
    outcome = plan(QWEN, fast, DEFAULT, Recipe(layout="hsdp", checkpointing="off"), assume)
    assert outcome.tokens_per_second == pytest.approx(per_second, rel=1e-3)
    assert outcome.usd_per_million_tokens == pytest.approx(usd, abs=0.0006)
    assert outcome.hours(per_second * 3600) == pytest.approx(1, rel=1e-3)
    assert outcome.usd(per_second * 3600) == pytest.approx(9.55, rel=1e-3)


def test_seconds_on_the_network() -> None:
    recipe = Recipe(layout="hsdp")
    assert plan(QWEN, G6, DEFAULT, recipe).network_seconds == pytest.approx(2.06, abs=0.01)
    line_rate = dataclasses.replace(G6, network=5e9)
    assert plan(QWEN, line_rate, DEFAULT, recipe).network_seconds == pytest.approx(1.23, abs=0.01)
    full = Recipe(layout="full")
    one = dataclasses.replace(DEFAULT, micro_batches=1)
    assert plan(ALL_TWICE, G6, one, full).network_seconds == pytest.approx(3.60, abs=0.01)
    assert plan(ALL_TWICE, line_rate, one, full).network_seconds == pytest.approx(2.16, abs=0.01)


def test_a_node_with_one_gpu_has_nothing_inside() -> None:
    alone = dataclasses.replace(G6, gpus_per_node=1)
    for recipe in (Recipe(layout="full"), Recipe(layout="hsdp")):
        found = plan(QWEN, alone, DEFAULT, recipe)
        assert found.in_node_seconds == 0.0
        assert found.network_seconds > 0


def test_the_tokens_that_hide_the_reduction() -> None:
    # 55e12 sustained operations per second, no recomputing: 17,300 tokens per step at 3 GB/s.
    assume = Assumptions(utilisation=55e12 / L4.peak, in_node=1e15)
    recipe = Recipe(layout="hsdp", checkpointing="off")
    hidden, exposed = (
        plan(QWEN, G6, Batch(sequence_length=2048, micro_batch=count), recipe, assume) for count in (9, 8)
    )
    assert hidden.step_seconds == hidden.compute_seconds
    assert exposed.step_seconds > exposed.compute_seconds
    # Accumulated, only the last micro-batch's backward is behind the reduction.
    halved = plan(QWEN, G6, Batch(sequence_length=2048, micro_batch=5, micro_batches=2), recipe, assume)
    assert halved.step_seconds > halved.compute_seconds
    assert halved.step_seconds < halved.serial_seconds


def test_memory_at_the_designs_batch() -> None:
    shape: dict[str, Any] = {"layout": "hsdp", "nodes": 2, "per_node": 4, "tokens": 8192, "checkpointing": "full"}
    found = memory(QWEN, **shape, reshard=False, accumulated=True)
    gb = {name: size / 1e9 for name, size in dataclasses.asdict(found).items()}
    assert gb["parameters"] + gb["optimizer"] == pytest.approx(4.63, abs=0.01)
    assert gb["gradients"] == pytest.approx(1.54, abs=0.01)
    assert gb["gathered"] == pytest.approx(3.09, abs=0.01)
    assert gb["activations"] == pytest.approx(0.70, abs=0.01)
    # 1,024 tokens: 10 bytes for each logit, and twice the head in float32.
    assert gb["logits"] == pytest.approx(1.56, abs=0.01)
    assert gb["head_gradient"] == pytest.approx(1.87, abs=0.01)
    assert found.peak / 1e9 == pytest.approx(13, abs=0.6)  # the design's budget: about 13 of 22.9 GiB
    assert found.peak == found.at_loss
    full = memory(QWEN, **shape | {"layout": "full"})
    assert (full.parameters + full.gradients + full.optimizer) / 1e9 == pytest.approx(3.09, abs=0.01)


def test_two_nodes_choose_hsdp_and_one_node_full_shards() -> None:
    assert choose(QWEN, G6, DEFAULT).recipe.layout == "hsdp"
    assert choose(QWEN, dataclasses.replace(G6, nodes=1), DEFAULT).recipe.layout == "full"


def test_a_choice_for_gradients_summed_in_half_the_bytes() -> None:
    plain, half = choose(QWEN, G6, DEFAULT), choose(QWEN, G6, DEFAULT, reduce_width=2)
    assert half.bytes_per_node == pytest.approx(plain.bytes_per_node / 2)
    assert (plain.recipe.reduce_width, half.recipe.reduce_width) == (4, 2)


def test_what_memory_allows_is_kept_rather_than_gathered_or_computed_again() -> None:
    small = choose(QWEN, G6, Batch(sequence_length=1024, micro_batch=1)).recipe
    assert (small.reshard, small.checkpointing) == (False, "off")
    large = choose(QWEN, G6, Batch(sequence_length=2048, micro_batch=12)).recipe
    assert large.checkpointing == "full"


def test_what_fits_only_in_full_shards_gets_them() -> None:
    # Four times the blocks: 16 bytes per parameter over four GPUs are too much, over eight they fit.
    deep = read_model(QWEN2_5_1_5B | {"num_hidden_layers": 112})
    small = Batch(sequence_length=1024, micro_batch=1)
    hsdp = plan(deep, G6, small, Recipe(layout="hsdp"))
    assert not hsdp.fits
    assert choose(deep, G6, small).recipe.layout == "full"


def test_what_fits_nowhere_is_refused_with_figures() -> None:
    with pytest.raises(InputError, match=r"micro-batch 64: expected .* 22,888 MiB of a L4.* Lower the micro-batch"):
        choose(QWEN, G6, Batch(sequence_length=32_768, micro_batch=64))


def test_unknown_families_and_empty_batches_are_refused() -> None:
    with pytest.raises(InputError, match=r"model mamba: expected a model_type of llama, mistral, qwen2, qwen3"):
        read_model(QWEN2_5_1_5B | {"model_type": "mamba"})
    with pytest.raises(InputError, match=r"micro-batches 0: expected"):
        Batch(sequence_length=8, micro_batch=1, micro_batches=0)


def test_planning_needs_no_torch() -> None:
    code = "import sys, training.plan; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
