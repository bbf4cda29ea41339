"""What a run does besides lowering its loss: figures, files, the learning rate, the model folder."""

import json
import math
import socket
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig, OPTConfig

from tests.training.helpers import COMMON, CONFIGS, MakeArguments, losses, rows
from training import metrics
from training.arguments import Arguments
from training.data import Samples
from training.errors import InputError, TrainingError
from training.loop import train
from training.optimisation import learning_rate
from training.ranks import Ranks
from training.results import JsonLines, RunFolder
from training.setup import check_shared
from training.tokens import fetch, prepare

CPU = torch.device("cpu")


def run(args: Arguments, **timeline: float) -> dict[str, object]:
    return train(args, CPU, {"driver": time.time()} | timeline)


def test_the_summary_has_what_is_promised(arguments: MakeArguments, process_group: None) -> None:
    args = arguments(steps=6, micro_batch=2, accumulation=3, peak_flops=2e12, usd_per_hour=9.0)
    summary = train(args, CPU, {"submitted": time.time() - 5, "driver": time.time() - 3})
    assert summary.keys() == {
        *("world_size", "backend", "device", "mesh", "parameters", "steps", "resumed_from_step", "tokens_per_step"),
        *("first_loss", "last_loss", "tokens_per_second", "step_seconds", "flops_per_token", "mfu"),
        *("usd_per_million_tokens", "transport", "memory_bytes_by_rank", "timeline", "seconds", "versions"),
    }
    assert (summary["backend"], summary["mesh"], summary["resumed_from_step"]) == ("gloo", "full over 1", 0)
    assert summary["tokens_per_step"] == 2 * 3 * 32
    assert (summary["first_loss"], summary["last_loss"]) == (losses(args)[0], losses(args)[-1])
    seconds = sorted(row["step_seconds"] for row in rows(args)[1:])
    assert summary["step_seconds"] == {"median": seconds[2], "p95": seconds[-1]}
    tokens = summary["tokens_per_second"]
    assert tokens == pytest.approx(2 * 3 * 32 / seconds[2])
    assert summary["mfu"]["of_nominal_peak"] == pytest.approx(tokens * summary["flops_per_token"] / 2e12)
    assert 1e8 < summary["mfu"]["measured_gemm"] < 1e13
    assert summary["usd_per_million_tokens"] == pytest.approx(9 / 3600 / tokens * 1e6)
    timeline = summary["timeline"]
    moments = ["submitted", "driver", "worker", "transport", "data", "model", "first step", "last step", "end"]
    assert list(timeline) == moments
    assert list(timeline.values()) == sorted(timeline.values())
    assert (timeline["submitted"], timeline["driver"]) == (0, pytest.approx(2, abs=0.1))
    assert summary["seconds"]["start"] == pytest.approx(timeline["worker"], abs=0.01)
    ((setup,), (training,)) = summary["memory_bytes_by_rank"].values()
    assert 100e6 < setup <= training < 10e9
    assert summary["transport"]["verdict"] == "SOCKET"
    # One rank sends nothing, and steps two to four are measured.
    sent = summary["transport"]["bytes"]
    assert (sent["steps"], sent["node"], sent["predicted_bytes_per_step"]) == (3, socket.gethostname(), 0)
    assert summary["versions"].keys() == {"python", "torch", "ray", "transformers"}


def test_losses_are_read_together_and_none_is_lost(
    arguments: MakeArguments, process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[list[int]] = []
    append = JsonLines.append

    def record(self: JsonLines, rows: list[dict[str, float]]) -> None:
        writes.append([int(row["step"]) for row in rows])
        append(self, rows)

    monkeypatch.setattr(metrics, "READ_EVERY", {"cpu": 4})
    monkeypatch.setattr(JsonLines, "append", record)
    # A checkpoint, with which all rows before it must be written, and a step for which nothing else reads them.
    args = arguments(steps=10, checkpoint_every=6)
    run(args)
    assert writes == [[1], [2, 3, 4], [5, 6], [7, 8], [9, 10]]
    together = losses(args)

    monkeypatch.undo()
    args = arguments(steps=10, run_name="each")
    run(args)
    assert losses(args) == together


def test_an_attempt_after_the_last_checkpoint_writes_what_is_missing(
    arguments: MakeArguments, process_group: None
) -> None:
    args = arguments(steps=4, checkpoint_every=2)
    run(args)
    whole, model = rows(args), Path(args.results, "run", "model")
    assert not model.exists()
    # As after a loss during the export: all steps are done.
    again = run(arguments(steps=4, checkpoint_every=2, save_model=True))
    assert again["resumed_from_step"] == 4
    assert rows(args) == whole
    assert (again["first_loss"], again["last_loss"]) == (losses(args)[0], losses(args)[-1])
    assert (model / "model.safetensors").exists()


def test_the_learning_rate(arguments: MakeArguments, process_group: None) -> None:
    args = arguments(steps=12, warmup_steps=4, learning_rate=2e-3, schedule="cosine")
    run(args)
    rates = [row["learning_rate"] for row in rows(args)]
    assert rates[:4] == pytest.approx([0.5e-3, 1e-3, 1.5e-3, 2e-3])
    assert rates[7] == pytest.approx(2e-3 * (0.1 + 0.9 * (1 + math.cos(math.pi / 2)) / 2))
    assert rates[-1] == pytest.approx(2e-4)
    constant = arguments(steps=12, warmup_steps=0, learning_rate=2e-3)
    assert {learning_rate(constant, step) for step in range(1, 13)} == {2e-3}


def test_a_diverged_run_stops_with_its_step_and_keeps_the_rows_before(
    arguments: MakeArguments, process_group: None
) -> None:
    args = arguments(learning_rate=1e38)
    with pytest.raises(TrainingError, match=r"step 2: .*finite.*Lower --learning-rate \(it is 1e\+38\)"):
        run(args)
    assert len(losses(args)) == 1


@pytest.mark.parametrize("file", [".metadata", "__0_0.distcp"])
def test_a_checkpoint_that_has_changed_is_named(arguments: MakeArguments, process_group: None, file: str) -> None:
    args = arguments(steps=2, checkpoint_every=2, data=__file__)
    run(args)
    (path,) = Path(args.results, "run", "checkpoints").glob(f"*/{file}")
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(
        TrainingError, match=r"step-00000002 is complete and cannot be read.*Delete its folder.*Rank 0: "
    ):
        run(arguments(run_name="next", resume="run", steps=4, data=__file__))


def test_a_profile_that_a_resumed_run_never_reaches_is_refused(arguments: MakeArguments, process_group: None) -> None:
    run(arguments(steps=8, checkpoint_every=8, data=__file__))
    with pytest.raises(InputError, match=r"--profile-steps 3: expected at most 2: run run has done 8 steps"):
        run(arguments(run_name="next", resume="run", steps=15, profile_steps=3, data=__file__))


def test_a_held_out_loss_that_is_not_finite_ends_the_run_at_once(
    arguments: MakeArguments, process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.loop.evaluate", lambda run: math.nan)
    args = arguments(steps=4, data=__file__, evaluate_every=2, evaluation_sequences=4)
    with pytest.raises(TrainingError, match=r"step 2: loss nan on the held-out.*Lower --learning-rate"):
        run(args)
    assert len(losses(args)) == 2


def test_the_seed_decides_the_weights(arguments: MakeArguments, process_group: None) -> None:
    first = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        args = arguments(run_name=name, seed=seed, data=__file__)
        run(args)
        first[name] = losses(args)
    assert first["a"] == first["b"]
    assert first["a"][0] != first["c"][0]


def test_dropout_is_drawn_anew_at_each_step_and_alike_when_resumed(
    arguments: MakeArguments, process_group: None, tmp_path: Path
) -> None:
    OPTConfig(**COMMON, ffn_dim=128, word_embed_proj_dim=64, dropout=0.5).save_pretrained(tmp_path / "dropout")
    model = str(tmp_path / "dropout" / "config.json")
    settings = {"model": model, "steps": 6, "data": "synthetic"}
    whole, stopped = arguments(run_name="whole", **settings), arguments(**settings, checkpoint_every=3)
    run(whole)
    run(stopped)
    (tmp_path / "results" / "run" / "checkpoints" / "step-00000006" / "complete.json").unlink()
    run(stopped)
    assert losses(stopped) == losses(whole)
    unlike = arguments(run_name="unlike", **settings, seed=1)
    run(unlike)
    assert losses(unlike)[1:] != losses(whole)[1:]


@pytest.mark.parametrize("name", ["qwen2-tied", "qwen2-untied", "gpt-neox", "opt"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_model_folder_loads_in_transformers_and_generates(
    name: str, dtype: str, arguments: MakeArguments, process_group: None, tmp_path: Path, models_folder: Path
) -> None:
    source = tmp_path / "source"
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(CONFIGS[name]).to(getattr(torch, dtype)).save_pretrained(source)
    (source / "tokenizer.json").write_text((models_folder / name / "tokenizer.json").read_text())
    GenerationConfig(eos_token_id=[7, 9], max_new_tokens=5).save_pretrained(source)
    args = arguments(
        model=str(source), data=__file__, steps=8, save_model=True, evaluate_every=8, evaluation_sequences=4
    )
    run(args)
    folder = Path(args.results, "run", "model")
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert type(model).__name__ == json.loads((folder / "config.json").read_text())["architectures"][0]
    assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, dtype)}
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert tied == CONFIGS[name].tie_word_embeddings
    assert model.generation_config.eos_token_id == [7, 9]
    ids = AutoTokenizer.from_pretrained(folder)("def ", return_tensors="pt").input_ids
    assert model.generate(ids, max_new_tokens=5, min_new_tokens=5, do_sample=False).shape == (1, ids.shape[1] + 5)
    # And its weights are the trained ones: so says the loss of the held-out sequences after the last step.
    tokens = prepare(args, AutoConfig.from_pretrained(source))
    assert tokens is not None
    ((held_ids, targets),) = Samples(fetch(args, tokens), args.sequence_length, args.seed, 4).held_out(0, 1, 4)
    logits = model.float()(input_ids=held_ids).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    expected = rows(args, "evaluations.jsonl")[-1]["loss"]
    assert loss == pytest.approx(expected, abs=1e-4 if dtype == "float32" else 0.01)
    assert expected < 5.6


def test_a_profile_of_some_steps(arguments: MakeArguments, process_group: None) -> None:
    args = arguments(steps=8, profile_steps=2)
    run(args)
    trace = json.loads(Path(args.results, "run", "profile.json").read_text())
    steps = {event["name"] for event in trace["traceEvents"] if str(event.get("name")).startswith("ProfilerStep")}
    assert steps == {"ProfilerStep#5", "ProfilerStep#6"}
    run(arguments(run_name="without", steps=3))
    assert not Path(args.results, "without", "profile.json").exists()


@pytest.mark.failure_mode("G1")
def test_results_that_other_nodes_do_not_see_are_refused(
    arguments: MakeArguments, process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(arguments().results, "run")
    check_shared(folder, Ranks())
    monkeypatch.setattr(RunFolder, "read", lambda self, name: None)  # as on a node with a disk of its own
    with pytest.raises(InputError, match=r"--results .*: expected a folder that all nodes share"):
        check_shared(folder, Ranks())
