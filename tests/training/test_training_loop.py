"""The loop under gloo: the number of processes changes nothing but the speed."""

import dataclasses
import json
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.training.helpers import CONFIGS, Gang, MakeArguments, losses
from training import metrics
from training.arguments import Arguments
from training.data import Samples, make_tokens
from training.loop import WARMUP_STEPS, train
from training.results import MetricsFile

GLOBAL_BATCH = 4
CPU = torch.device("cpu")


def of_world(world_size: int, args: Arguments) -> Arguments:
    return dataclasses.replace(args, run_name=f"{args.run_name}-{world_size}", micro_batch=GLOBAL_BATCH // world_size)


def plain_losses(args: Arguments) -> list[float]:
    """The same training written in plain PyTorch: one process, no sharding, no code of the loop."""
    torch.manual_seed(args.seed)
    config = AutoConfig.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    samples = Samples(torch.from_numpy(make_tokens(args, config, 1)), args.sequence_length, args.seed)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0)
    values = []
    for step in range(args.steps):
        optimizer.param_groups[0]["lr"] = args.learning_rate * min(1, (step + 1) / 10)
        first = step * args.micro_batch
        batch = torch.stack([samples[index] for index in range(first, first + args.micro_batch)])
        logits = model(input_ids=batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        values.append(loss.item())
    return values


@pytest.fixture
def runs(arguments: MakeArguments) -> list[Arguments]:
    """One run per architecture, on real text that wraps around, and one in bfloat16."""
    full = [
        arguments(run_name=name, model=arguments().model.replace("qwen2-tied", name), data=__file__, steps=20)
        for name in CONFIGS
    ]
    return [*full, arguments(run_name="bfloat16", data=__file__, steps=20, compute_dtype="bfloat16")]


def test_losses_do_not_depend_on_the_number_of_processes(
    runs: list[Arguments], gang: Gang, process_group: None
) -> None:
    alone = {args.run_name: (train(of_world(1, args), CPU, time.time()), losses(of_world(1, args))) for args in runs}
    for summary, values in alone.values():
        assert len(values) == 20
        assert values[-1] < values[0] - 0.5  # and it learns
        assert summary["first_loss"] == values[0]
        assert summary["last_loss"] == values[-1]

    for world_size in (2, 4):
        outcomes = gang(world_size, [of_world(world_size, args) for args in runs])
        for args, ranks in zip(runs, outcomes, strict=True):
            assert [rank.get("error") for rank in ranks] == [None] * world_size
            assert ranks[0]["world_size"] == world_size
            assert ranks[0]["parameters"] == alone[args.run_name][0]["parameters"]
            # bfloat16 has 8 bits of mantissa, so a sum in another order moves a loss near 5 by up to 5 / 2**8.
            tolerance = 5e-5 if args.compute_dtype == "float32" else 0.02
            assert losses(of_world(world_size, args)) == pytest.approx(alone[args.run_name][1], abs=tolerance)

    # bfloat16 compute with float32 masters follows float32, and is not float32.
    assert alone["bfloat16"][1] == pytest.approx(alone["qwen2-tied"][1], abs=0.05)
    assert alone["bfloat16"][1] != pytest.approx(alone["qwen2-tied"][1], abs=1e-5)


@pytest.mark.parametrize("architecture", ["qwen2-tied", "llama"])
def test_losses_are_those_of_plain_pytorch(architecture: str, arguments: MakeArguments, process_group: None) -> None:
    model = arguments().model.replace("qwen2-tied", architecture)
    # A rate at which clipping and the optimizer's settings show within 20 steps.
    args = arguments(model=model, data=__file__, steps=20, micro_batch=GLOBAL_BATCH, learning_rate=5e-3)
    train(args, CPU, time.time())
    assert losses(args) == pytest.approx(plain_losses(args), abs=5e-5)


def test_an_error_on_rank_0_reaches_every_rank(arguments: MakeArguments, gang: Gang) -> None:
    missing, healthy = arguments(run_name="missing", data="/no/such/text"), arguments(run_name="healthy", steps=1)
    outcomes, after = gang(2, [missing, healthy])
    assert [outcome["kind"] for outcome in outcomes] == ["InputError", "RuntimeError"]
    assert all("/no/such/text" in outcome["error"] for outcome in outcomes)
    # Nobody was left in a collective: the same processes can train.
    assert [outcome.get("steps") for outcome in after] == [1, 1]


def test_the_summary_and_the_metrics_have_what_is_promised(arguments: MakeArguments, process_group: None) -> None:
    args = arguments(steps=WARMUP_STEPS + 2)
    summary = train(args, CPU, time.time() - 5)
    assert summary.keys() == {
        *("world_size", "backend", "device", "parameters", "steps", "first_loss", "last_loss", "tokens_per_second"),
        *("seconds", "versions"),
    }
    assert summary["backend"] == "gloo"
    assert summary["seconds"].keys() == {"start", "data", "model", "training"}
    assert 5 <= summary["seconds"]["start"] < 6
    assert summary["versions"].keys() == {"python", "torch", "ray", "transformers"}


def test_losses_are_read_together_and_none_is_lost(
    arguments: MakeArguments, process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[list[int]] = []
    append = MetricsFile.append

    def record(self: MetricsFile, rows: list[dict[str, float]]) -> None:
        writes.append([int(row["step"]) for row in rows])
        append(self, rows)

    monkeypatch.setattr(metrics, "READ_EVERY", {"cpu": 4})
    monkeypatch.setattr(MetricsFile, "append", record)
    args = arguments(steps=10)
    train(args, CPU, time.time())
    assert writes == [[1], [2, 3, 4], [5, 6, 7, 8], [9, 10]]
    together = losses(args)

    monkeypatch.undo()
    args = arguments(steps=10, run_name="each")
    train(args, CPU, time.time())
    assert losses(args) == together


def test_the_learning_rate_warms_up(arguments: MakeArguments, process_group: None) -> None:
    args = arguments(steps=WARMUP_STEPS + 2, learning_rate=0.5e-3)
    train(args, CPU, time.time())
    rows = [json.loads(line) for line in Path(args.results, "run", "metrics.jsonl").read_text().splitlines()]
    rates = [row["learning_rate"] for row in rows]
    assert rates == pytest.approx([0.5e-3 * min(1, step / WARMUP_STEPS) for step in range(1, WARMUP_STEPS + 3)])


def test_a_diverged_run_stops_with_its_step_and_keeps_the_rows_before(
    arguments: MakeArguments, process_group: None
) -> None:
    args = arguments(learning_rate=1e38)
    with pytest.raises(RuntimeError, match=r"step 2: .*finite.*Lower --learning-rate \(it is 1e\+38\)"):
        train(args, CPU, time.time())
    assert len(losses(args)) == 1


def test_the_seed_decides_the_weights(arguments: MakeArguments, process_group: None) -> None:
    first = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        args = arguments(run_name=name, seed=seed, data=__file__)
        train(args, CPU, time.time())
        first[name] = losses(args)
    assert first["a"] == first["b"]
    assert first["a"][0] != first["c"][0]
