"""The plan of an environment's training: the design's figures, and arithmetic by hand."""

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

from eks_ray_train.instance_types import INSTANCE_TYPES
from ops.training_outlook import NotKnown, TrainingOutlook, network_rate, training_outlook
from ops.training_view import show_training
from tests.synthesis import settings_with

# What the design proposes: 4 sequences of 2,048 tokens, twice.
DESIGN = {"training.sequence_length": 2048, "training.micro_batch": 4, "training.accumulation": 2}
FRUGAL = {"training.activation_checkpointing": "full"}


def _outlook(changes: Mapping[str, Any], environment: str = "dev") -> TrainingOutlook:
    found = training_outlook(settings_with(changes, environment))
    assert isinstance(found, TrainingOutlook)
    return found


def _shown(changes: Mapping[str, Any], environment: str = "dev") -> str:
    console = Console(width=200)
    with console.capture() as capture:
        show_training(console, training_outlook(settings_with(changes, environment)))
    return capture.get()


def _lines(text: str, start: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith(start)]


def test_the_designs_figures() -> None:
    found = _outlook(DESIGN | FRUGAL | {"training.reshard_after_forward": False})
    now = found.now
    assert found.tokens_per_step == 131_072
    assert now.recipe.layout == "hsdp"
    assert now.bytes_per_node / 1e9 == pytest.approx(6.17, abs=0.01)
    assert now.network_seconds == pytest.approx(2.06, abs=0.01)  # at 3 GB/s
    assert now.in_node_seconds == pytest.approx(2 * 0.87, abs=0.01)  # each micro-batch, at 8 GB/s
    assert now.memory.peak / 1e9 == pytest.approx(13, abs=0.6)
    # 16,384 tokens on each GPU, recomputed: 12.59 GFLOP each, at 45% of 121 TFLOP/s.
    assert now.compute_seconds == pytest.approx(16_384 * 12.59e9 / (0.45 * 121e12), rel=1e-3)


def test_hours_and_dollars_of_all_steps() -> None:
    found = _outlook({"training.steps": 1000})
    run = found.run(found.now)
    assert run.hours == pytest.approx(1000 * found.now.step_seconds / 3600)
    assert run.gpu_nodes_usd == pytest.approx(run.hours * 2 * 4.6016)
    assert run.usd == pytest.approx(run.hours * 9.5498)
    tokens = 1000 * 8192
    assert run.usd_per_million_tokens == pytest.approx(run.hours * 9.5498 / tokens * 1e6)


def test_a_step_is_what_computing_leaves_open() -> None:
    # dev: HSDP's reduction has two thirds of the one micro-batch's computing to hide behind.
    found = _outlook({})
    now = found.now
    assert now.step_seconds == pytest.approx(now.network_seconds + now.compute_seconds / 3)
    hidden = now.compute_seconds * 2 / 3
    text = _shown({})
    assert f"Of the 2.06 s between nodes, {hidden:.2f} hide behind the last micro-batch's backward." in text
    assert "The traffic inside a node hides behind all else." in text
    assert _lines(text, "the step") == ["the step                                           2.12       2.12"]
    assert "The sharding to choose for this batch is as fast, and has 0.25 s of each step less to hide:" in text


def test_the_sharding_to_choose_and_what_it_gains() -> None:
    found = _outlook({}, "prod")
    assert found.chosen is not None
    assert found.changes == ["reshard_after_forward = false"]
    # In a node, gathered again: three quarters of the blocks' 1.31e9 parameters in bfloat16, 4 times, at 8 GB/s.
    saved = 4 * (28 * 46_797_824) * 2 * 3 / 4 / 8e9
    assert found.now.step_seconds - found.chosen.step_seconds == pytest.approx(saved)
    hours = 2000 * saved / 3600
    text = _shown({}, "prod")
    # prod's three NAT gateways make 9.6398 dollars an hour.
    assert f"saves {saved:.2f} s of each step, {hours:.2f} h and ${hours * 9.6398:.2f} of the run:" in text
    assert "The traffic inside a node is the longest: all else hides behind it." in text


@pytest.mark.parametrize(
    "changes",
    [
        {},
        DESIGN | FRUGAL,
        {"training.sharding": "full"},
        {"training.micro_batch": 16, "training.sequence_length": 2048},
        {"training.reduce_dtype": "bfloat16", "training.sharding": "full"},
    ],
)
def test_the_lines_make_the_settings_the_chosen_ones(changes: Mapping[str, Any]) -> None:
    lines = tomllib.loads("\n".join(_outlook(changes).changes))
    assert lines
    after = _outlook({**changes, **{f"training.{name}": value for name, value in lines.items()}})
    assert after.now == after.chosen
    assert after.changes == []


def test_the_chosen_settings_have_nothing_beside_them() -> None:
    text = _shown({"training.reshard_after_forward": False})
    assert "The sharding is the one to choose for this batch." in text
    assert "to choose\n" not in text


def test_what_does_not_fit_is_said_first() -> None:
    text = _shown({"training.micro_batch": 4, "training.sequence_length": 2048})
    lines = text.strip().splitlines()
    assert lines[1].startswith("The settings do not fit: a GPU holds ")
    assert lines[1].endswith(" MiB at the peak, and 20,599 of its 22,888 are counted on.")  # 90%
    at = lines.index("The sharding to choose for this batch, which fits:")
    assert lines[at + 1] == f"  activation_checkpointing = {json.dumps('selective')}"


def test_where_no_sharding_fits() -> None:
    changes = {"training.micro_batch": 64, "training.sequence_length": 8192}
    assert _outlook(changes).chosen is None
    text = _shown(changes)
    assert "No sharding fits this batch: lower training.micro_batch" in text
    assert "sharding to choose" not in text


def test_the_deadline() -> None:
    assert "That leaves 3.9 h of training.deadline_hours = 4 " in _shown({})
    found = _outlook({"training.steps": 10_000})
    last = int(4 * 3600 / found.now.step_seconds)
    text = _shown({"training.steps": 10_000})
    assert f"more than training.deadline_hours = 4: it would stop itself after step {last:,} of 10,000." in text


def test_each_assumption_has_its_value() -> None:
    text = _shown({})
    assert "45% of each GPU's 121 TFLOP/s while it computes (a share chosen for an L4), 67% of that in" in text
    assert "backward; 90% of its memory" in text
    assert "3.0 GB/s out of each node, of EC2's 40 Gb/s: the most seen without GPUDirect RDMA" in text
    assert "8.0 GB/s between two GPUs of a node, through host memory" in text
    assert "NVLink" not in text
    alone = _shown({"gpu_nodes.count": 1})
    assert "out of each node, " not in alone
    assert "between nodes, " not in alone
    single = _shown({"gpu_nodes.instance_type": "g6.8xlarge"})
    assert "between two GPUs" not in single
    assert "The traffic inside a node" not in single


def test_nvlink_makes_the_assumption_pessimistic() -> None:
    found = _outlook({"gpu_nodes.instance_type": "p5.48xlarge"})
    text = _shown({"gpu_nodes.instance_type": "p5.48xlarge"})
    free = found.now.compute_seconds + found.now.exposed_seconds
    assert "pessimistic here, for these GPUs have NVLink: " in text
    assert f"were the traffic inside a node free, a step would take {free:.2f} s." in text
    assert "400.0 GB/s out of each node, the 3,200 Gb/s that EC2 states" in text


@pytest.mark.parametrize(
    ("name", "rate"), [("g6.12xlarge", 3e9), ("g5.8xlarge", 3e9), ("g6e.48xlarge", 3e9), ("p4d.24xlarge", 50e9)]
)
def test_bytes_out_of_a_node(name: str, rate: float) -> None:
    assert network_rate(INSTANCE_TYPES[name]) == rate


def test_no_price_no_dollars() -> None:
    changes = {"gpu_nodes.instance_type": "p5e.48xlarge"}
    text = _shown(changes)
    assert "No On-Demand price is known of p5e.48xlarge." in text
    assert len([line for line in text.splitlines() if line.startswith("  dollars") and "unknown" in line]) == 3
    assert "$" not in text


def test_a_model_whose_shape_is_not_known() -> None:
    text = _shown({"training.model": "meta-llama/Llama-3.1-8B"})
    (line,) = _lines(text, "Not planned: ")
    assert line.startswith("Not planned: the shape of meta-llama/Llama-3.1-8B is not known here without a download; ")
    assert "Qwen/Qwen2.5-1.5B, " in line
    assert text.strip().splitlines()[-1] == line


def test_a_gpu_whose_peak_is_not_known() -> None:
    text = _shown({"gpu_nodes.instance_type": "g7e.8xlarge"})
    assert "Not planned: no source was read for the bfloat16 peak of g7e.8xlarge's GPUs." in text


def test_a_network_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    row = dataclasses.replace(INSTANCE_TYPES["g6.12xlarge"], network_gbps=None)
    monkeypatch.setitem(INSTANCE_TYPES, "g6.12xlarge", row)
    found = training_outlook(settings_with({}))
    assert found == NotKnown("the network bandwidth of g6.12xlarge is not in the instance table")
