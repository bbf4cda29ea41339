"""The plan's bytes equal the flight recorder's to the byte, and its shards equal what lies in memory."""

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.training.helpers import ROOT
from tests.training.plan_ranks import CONFIG
from training.flight_recorder import RecorderError, read
from training.plan_bytes import Collective, Traffic, bytes_leaving, step_collectives
from training.plan_memory import memory
from training.plan_model import read_model

WORLD, NODES = 4, 2
COMMON: dict[str, Any] = {
    "layout": "hsdp",
    "reshard": True,
    "reduce": "float32",
    "micro_batches": 1,
    "tied": True,
    "nodes": NODES,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "hsdp": COMMON,
    "hsdp, bf16 reduction": COMMON | {"reduce": "bfloat16"},
    "hsdp, accumulated": COMMON | {"micro_batches": 3},
    "hsdp, untied": COMMON | {"tied": False},
    "full": COMMON | {"layout": "full"},
    "full, kept gathered": COMMON | {"layout": "full", "reshard": False},
    "full, accumulated": COMMON | {"layout": "full", "micro_batches": 2},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    tasks = tmp_path_factory.mktemp("plan") / "variants.json"
    tasks.write_text(json.dumps(list(VARIANTS.values())))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("plan_ranks.py")), str(WORLD), str(tasks)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return dict(zip(VARIANTS, map(json.loads, lines), strict=True))


def traffic(variant: dict[str, Any]) -> Traffic:
    return Traffic(
        layout=variant["layout"],
        reduce_width={"float32": 4, "bfloat16": 2}[variant["reduce"]],
        reshard=variant["reshard"],
        micro_batches=variant["micro_batches"],
        reduce_scatter_as_all_reduce=True,  # what gloo does
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_bytes_are_exact(recorded: dict[str, dict[str, Any]], name: str) -> None:
    variant = VARIANTS[name]
    model = read_model(CONFIG | {"model_type": "qwen2", "tie_word_embeddings": variant["tied"]})
    planned = step_collectives(model, traffic(variant), NODES, WORLD // NODES)
    found = [Collective(op, payload, tuple(ranks)) for op, payload, ranks in recorded[name]["collectives"]]
    # The recorder is rank 0's, and sees the groups that rank 0 is in.
    assert Counter(found) == Counter(c for c in planned if 0 in c.ranks)


@pytest.mark.parametrize("name", ["hsdp", "full"])
def test_shards_in_memory_are_exact(recorded: dict[str, dict[str, Any]], name: str) -> None:
    model = read_model(CONFIG | {"model_type": "qwen2", "tie_word_embeddings": True})
    planned = memory(
        model, layout=VARIANTS[name]["layout"], nodes=NODES, per_node=WORLD // NODES, tokens=16, checkpointing="off"
    )
    found = recorded[name]
    assert {part: found[part] for part in ("parameters", "gradients", "optimizer")} == {
        "parameters": planned.parameters,
        "gradients": planned.gradients,
        "optimizer": planned.optimizer,
    }


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "record_id": 5,
        "is_p2p": False,
        "profiling_name": "nccl:_reduce_scatter_base",
        "process_group": ["0", "default_pg"],
        "input_sizes": [[8]],
        "output_sizes": [[2]],
        "input_dtypes": ["Float"],
        "output_dtypes": ["Float"],
    } | changes


def test_nccls_names_are_read() -> None:
    gather = entry(
        profiling_name="nccl:_all_gather_base",
        input_sizes=[[3]],
        output_sizes=[[12]],
        input_dtypes=["BFloat16"],
        output_dtypes=["BFloat16"],
    )
    barrier = entry(profiling_name="nccl:all_reduce_barrier")
    alone = entry(process_group=["1", "mesh_replicate"])
    earlier = entry(record_id=4)
    groups = {"0": (0, 1, 2, 3), "1": (2,)}
    assert read([earlier, gather, entry(), barrier, alone], 5, groups) == [
        Collective("all_gather", 24, (0, 1, 2, 3)),
        Collective("reduce_scatter", 32, (0, 1, 2, 3)),
    ]


def test_what_the_recorder_cannot_say_is_an_error() -> None:
    with pytest.raises(RecorderError, match="group '7', which no longer exists"):
        read([entry(process_group=["7", "gone"])], 0, {})
    with pytest.raises(RecorderError, match="of Float8_e4m3fn: expected one of"):
        read([entry(input_dtypes=["Float8_e4m3fn"])], 0, {"0": (0, 1)})


def test_a_ring_crosses_each_boundary_once_and_a_broadcast_does_not_come_back() -> None:
    ranks, node_of = (0, 1, 2, 3), ["a", "a", "b", "b"]
    gather = Collective("all_gather", 400, ranks)
    assert bytes_leaving([gather], node_of) == {"a": 300, "b": 300}
    assert bytes_leaving([dataclasses.replace(gather, operation="all_reduce")], node_of) == {"a": 600, "b": 600}
    assert bytes_leaving([dataclasses.replace(gather, operation="broadcast")], node_of) == {"a": 400, "b": 0}
    assert bytes_leaving([gather], ["a"] * 4) == {"a": 0}
