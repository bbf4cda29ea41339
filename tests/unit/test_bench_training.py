"""The benchmark of training: that the baseline is the recipe it is said to be, and the report's arithmetic."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from rich.console import Console

from bench import training, training_alone
from bench.errors import BenchError
from bench.training_ranks import measure, take_turns
from bench.training_recipe import Recipe
from bench.training_report import Figures, Losses, render
from bench.training_task import LEARNING_RATE, OURS, OURS_FLOAT32, QUIET, RECIPE, RECIPE_FLOAT32, STEPS, Shape, Task
from training.plan_model import read_model

LAYERS = 2
# Scaled down, with the bound again between a projection of the MLP and one of attention.
CONFIG: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
SHAPE = Shape(CONFIG, 15_000)
TIED = read_model(CONFIG | {"model_type": "qwen2"}).parameters
EMBEDDING = CONFIG["vocab_size"] * CONFIG["hidden_size"]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Task]:
    """A model saved, and a gloo group of this one process to train it in."""
    folder = tmp_path_factory.mktemp("bench")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    made = training.make_task(SHAPE, folder, ranks=1, rounds=2)
    yield dataclasses.replace(made, round_steps=1)
    dist.destroy_process_group()
    torch.set_num_threads(threads)


def test_the_baseline_is_the_samples_recipe(task: Task) -> None:
    recipe = Recipe(task.model, task.wrap_at, LEARNING_RATE)
    ids = torch.arange(32).reshape(1, -1)
    recipe.step(ids, ids)

    # FSDP1 by size: each projection of the MLP, the embedding, the head, the body with all attention, and the root.
    # By this count it is 88 for the 28 layers of Qwen2.5-1.5B.
    assert recipe.units() == 3 * LAYERS + 4
    # Untied: one more embedding is trained than the model has.
    assert recipe.parameters(1) == TIED + EMBEDDING
    # bfloat16 throughout, and AdamW's defaults.
    state = recipe.optimizer.state.values()
    assert {p.dtype for p in recipe.model.parameters()} == {torch.bfloat16}
    assert {moments[name].dtype for moments in state for name in ("exp_avg", "exp_avg_sq")} == {torch.bfloat16}
    (group,) = recipe.optimizer.param_groups
    assert (group["lr"], group["betas"], group["weight_decay"]) == (LEARNING_RATE, (0.9, 0.999), 0.01)
    assert not group["fused"]


def test_each_is_measured_from_the_same_start_with_the_same_data(task: Task) -> None:
    reports: list[dict[str, Any]] = []
    found = measure(task, reports.append)
    losses = {name: Losses(**one, alone=[]) for name, one in found["losses"].items()}
    assert [len(one.losses) for one in losses.values()] == [STEPS] * 4
    assert losses[OURS].parameters == losses[OURS_FLOAT32].parameters == TIED
    assert losses[RECIPE].parameters == losses[RECIPE_FLOAT32].parameters == TIED + EMBEDDING

    alone = {update: training_alone.losses(task, update) for update in (OURS, RECIPE)}
    assert alone[OURS] != alone[RECIPE]
    assert losses[OURS_FLOAT32].losses == pytest.approx(alone[OURS], abs=5e-5)
    # The untied recipe starts from the same loss, and leaves the single process.
    assert losses[RECIPE_FLOAT32].losses[0] == pytest.approx(alone[RECIPE][0], abs=5e-5)
    assert Losses(1, losses[RECIPE_FLOAT32].losses, alone[RECIPE]).apart_at == 2
    # Two rounds of one step that counts and one that does not, and nobody else reports.
    assert [row["step"] for row in reports] == sorted(row["step"] for row in reports)
    assert len(reports) == 2 * 2
    assert {name: len(speeds) for name, speeds in found["steps_per_second"].items()} == {OURS: 2, QUIET: 2, RECIPE: 2}


def test_turns_change_and_begin_with_a_step_that_does_not_count(task: Task) -> None:
    seen: list[str] = []
    ways = {name: lambda name=name: seen.append(name) for name in "abc"}
    speeds = take_turns(ways, rounds=2, steps=2)
    assert "".join(seen) == "aaabbbccc" + "bbbcccaaa"
    assert all(len(found) == 2 and min(found) > 0 for found in speeds.values())


FIGURES = Figures(
    losses={
        OURS_FLOAT32: Losses(8_000_000, [3.0, 2.0, 1.0], [3.0, 2.0, 1.0]),
        OURS: Losses(8_000_000, [3.0, 2.0005, 1.004], [3.0, 2.0, 1.0]),
        RECIPE_FLOAT32: Losses(10_000_000, [3.0, 2.1, 1.0], [3.0, 2.0, 1.0]),
        RECIPE: Losses(10_000_000, [3.25, 2.0, 1.5], [3.0, 2.0, 1.0]),
    },
    # Means, or ratios of each round, would give other numbers.
    speeds={OURS: [1.0, 9.0, 6.0], QUIET: [4.0, 1.0, 40.0], RECIPE: [0.5, 0.1, 0.9]},
    memory={OURS: [300 * 2**20, 100 * 2**20], RECIPE: [200 * 2**20, 200 * 2**20]},
    memory_parameters=52_000_000,
)


def test_the_tables_hold_what_follows_from_the_figures() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(render(FIGURES))
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in captured.get().splitlines()
        if line.startswith("│")
    ]
    assert rows == [
        [OURS_FLOAT32, "8.00M", "3.0000", "1.0000", "1.0000", "never", "0.0e+00"],
        [OURS, "8.00M", "3.0000", "1.0040", "1.0000", "from step 3", "4.0e-03"],
        [RECIPE_FLOAT32, "10.00M", "3.0000", "1.0000", "1.0000", "from step 2", "1.0e-01"],
        [RECIPE, "10.00M", "3.2500", "1.5000", "1.0000", "from step 1", "5.0e-01"],
        [OURS, "6.00", "1.00 to 9.00", "12.00", "1.50"],
        [QUIET, "4.00", "1.00 to 40.00", "8.00", "1.00"],
        [RECIPE, "0.50", "0.10 to 0.90", "1.00", "0.12"],
        ["0", "300", "200", "1.50"],
        ["1", "100", "200", "0.50"],
    ]


def test_the_json_holds_all_figures_and_what_follows_from_them() -> None:
    read = json.loads(json.dumps(FIGURES.as_json()))
    assert read["speeds"] == {name: list(speeds) for name, speeds in FIGURES.speeds.items()}
    assert read["losses"][RECIPE] == {"parameters": 10_000_000, "losses": [3.25, 2.0, 1.5], "alone": [3.0, 2.0, 1.0]}
    assert read["apart_at"] == {OURS_FLOAT32: None, OURS: 3, RECIPE_FLOAT32: 2, RECIPE: 1}
    assert read["steps_per_second_ratio"] == {"ours / recipe": 12.0, "ours / recipe without report": 1.5}
    assert read["initialisation_ratio_by_rank"] == [1.5, 0.5]


@pytest.mark.parametrize(("option", "value", "least"), [("--ranks", "1", 2), ("--rounds", "0", 1)])
def test_too_few_are_refused(option: str, value: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        training.main([option, value])

    printed = capsys.readouterr().err
    assert re.search(rf"(?s){option} = {value}.*expected: {least} or more.*to do:", printed), printed


def test_memory_is_measured_on_every_rank_of_both(task: Task, tmp_path: Path) -> None:
    whole = training.make_task(training.SMALL, tmp_path, ranks=2, rounds=1)
    memory = training.measure_memory(dataclasses.replace(task, ranks=2), whole)

    parameters = read_model(training.SMALL.config | {"model_type": "qwen2"}).parameters
    assert [len(memory[variant]) for variant in (OURS, RECIPE)] == [2, 2]
    # The whole model in bfloat16 on each rank; ours has the whole in float32 on rank 0 alone.
    assert min(memory[RECIPE]) > 2 * parameters
    assert memory[OURS][0] > 4 * parameters
    assert memory[OURS][1] < memory[OURS][0]


def test_a_rank_that_fails_is_told(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = "import sys; sys.stderr.write('what went wrong'); sys.exit(1)"
    monkeypatch.setattr(training, "MEMORY_COMMAND", [sys.executable, "-c", fails])
    task = dataclasses.replace(task, folder=str(tmp_path))

    with pytest.raises(BenchError, match=r"= exit code 1:\nwhat went wrong\n    expected: exit code 0.*\n    to do: "):
        training.measure_memory(task, task)
