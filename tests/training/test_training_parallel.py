"""However the work is divided, and wherever it stops and goes on, the losses are those of one plain process."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.training.conftest import defaults
from tests.training.helpers import CONFIGS, Group, Summaries, losses, rows, run_gang
from tests.training.plain import plain_losses
from training.arguments import Arguments
from training.results import RunFolder
from training.storage import file_sizes, folder_names

STEPS = 20
GLOBAL_BATCH = 8
# What the figures of four decimals may differ by.
CLOSE = 5e-5
# Settings on four processes, of a global batch of eight, and the mesh that they make.
DIVIDED: dict[str, tuple[dict[str, object], str]] = {
    "full": ({"mesh": "full", "micro_batch": 2}, "full over 4"),
    "hsdp": ({"micro_batch": 2}, "hsdp 2 x 2"),
    "hsdp-4x1": ({"mesh": "hsdp", "shard_size": 1, "micro_batch": 2}, "hsdp 4 x 1"),
    "full-accumulated": ({"mesh": "full", "accumulation": 2}, "full over 4"),
    "hsdp-accumulated": ({"mesh": "hsdp", "accumulation": 2}, "hsdp 2 x 2"),
    "kept-gathered": ({"micro_batch": 2, "reshard_after_forward": False}, "hsdp 2 x 2"),
    "recomputed": ({"micro_batch": 2, "activation_checkpointing": "full"}, "hsdp 2 x 2"),
    "recomputed-in-part": ({"micro_batch": 2, "activation_checkpointing": "selective"}, "hsdp 2 x 2"),
    "small-chunks": ({"micro_batch": 2, "loss_chunk": 7}, "hsdp 2 x 2"),
    "evaluated": ({"micro_batch": 2, "evaluate_every": 5, "evaluation_sequences": 11}, "hsdp 2 x 2"),
}
# Settings that change the losses, but not by much.
ROUNDED: dict[str, dict[str, object]] = {
    "bfloat16": {"micro_batch": 2, "compute_dtype": "bfloat16"},
    "bfloat16-reduced": {"micro_batch": 2, "compute_dtype": "bfloat16", "reduce_dtype": "bfloat16"},
}


class Ran:
    """What the gang has done: the arguments and the summaries of each run, by its name."""

    def __init__(self, groups: list[Group], outcomes: list[Summaries]) -> None:
        runs = [(group, args) for group in groups if group.dies_saving is None for args in group.runs]
        self.arguments = {args.run_name: args for group in groups for args in group.runs}
        self.summaries = {args.run_name: ranks for (_, args), ranks in zip(runs, outcomes, strict=True)}

    def losses(self, name: str) -> list[float]:
        return losses(self.arguments[name])

    def steps(self, name: str) -> list[int]:
        return [row["step"] for row in rows(self.arguments[name])]


@pytest.fixture(scope="module")
def ran(models_folder: Path, s3: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All runs of this module, in one gang: starting processes costs more than these tiny models do."""
    folder = tmp_path_factory.mktemp("gang")
    valid = dataclasses.replace(
        defaults(models_folder, str(folder / "results")), data=__file__, steps=STEPS, learning_rate=5e-3
    )

    def run(name: str, **changes: object) -> Arguments:
        return dataclasses.replace(valid, run_name=name, **changes)  # type: ignore[arg-type]

    def model(name: str) -> str:
        return valid.model.replace("qwen2-tied", name)

    stops = {"checkpoint_every": 8, "keep_checkpoints": 1}
    goes_on = {"resume": "stopped"}
    groups = [
        Group(
            1,
            [
                run("alone", micro_batch=8),
                run("alone-evaluated", **(DIVIDED["evaluated"][0] | {"micro_batch": 8})),
            ],
        ),
        Group(1, [run(f"{name}-1", micro_batch=8, model=model(name), steps=6) for name in CONFIGS]),
        Group(2, [run(f"{name}-2", micro_batch=4, model=model(name), steps=6) for name in CONFIGS]),
        Group(
            4,
            [run(name, **settings) for name, (settings, _) in DIVIDED.items()]
            + [run(name, **settings) for name, settings in ROUNDED.items()]
            + [
                run("stopped", micro_batch=2, steps=10, **stops),
                run("resumed-4", micro_batch=2, **goes_on),
                run("resumed-other-mesh", mesh="full", accumulation=2, **goes_on),
                run("refused", micro_batch=2, learning_rate=4e-3, **goes_on),
                run("unproven", micro_batch=2, data="/no/such/text", require_transport="efa"),
                run("after-refusal", micro_batch=2, steps=1),
                run("missing", micro_batch=2, data="/no/such/text"),
            ],
            local_world_size=2,
        ),
        Group(2, [run("resumed-2", micro_batch=4, **goes_on)]),
        Group(2, [run("killed", micro_batch=4, results=s3, checkpoint_every=4)], dies_saving=12),
        Group(4, [run("killed", micro_batch=2, results=s3, checkpoint_every=4)], local_world_size=2),
    ]
    return Ran(groups, run_gang(folder, groups))


@pytest.fixture(scope="module")
def plain(ran: Ran) -> list[float]:
    return plain_losses(ran.arguments["alone"], GLOBAL_BATCH)


def test_one_process_does_what_plain_pytorch_does(ran: Ran, plain: list[float]) -> None:
    assert ran.losses("alone") == pytest.approx(plain, abs=CLOSE)
    assert len(plain) == STEPS
    assert plain[-1] < plain[0] - 1  # and it learns


@pytest.mark.parametrize("name", [name for name in DIVIDED if name != "evaluated"])
def test_the_division_of_the_work_changes_nothing(name: str, ran: Ran, plain: list[float]) -> None:
    assert [summary.get("error") for summary in ran.summaries[name]] == [None] * 4
    assert ran.summaries[name][0]["mesh"] == DIVIDED[name][1]
    assert ran.losses(name) == pytest.approx(plain, abs=CLOSE)


def test_gradients_cross_the_nodes_once_per_step(ran: Ran) -> None:
    def needed(name: str) -> float:
        found = [summary["transport"]["bytes"] for summary in ran.summaries[name]]
        assert [(each["node"], each["steps"]) for each in found] == [(f"node-{i}", 3) for i in (0, 0, 1, 1)]
        (sent,) = {each["predicted_bytes_per_step"] for each in found}
        return float(sent)

    # All gradients once, in float32: each of a node's two ranks reduces its half. Losses and norms are small.
    assert needed("hsdp") == pytest.approx(4 * ran.summaries["hsdp"][0]["parameters"], rel=0.01)
    assert needed("hsdp-accumulated") == needed("hsdp")
    assert needed("bfloat16-reduced") == pytest.approx(needed("hsdp") / 2, rel=0.01)
    # Full shards: parameters are gathered twice and gradients reduced, three quarters of them over each node's edge.
    assert needed("full") > 2 * needed("hsdp")


@pytest.mark.failure_mode("B1")
def test_a_run_that_requires_efa_ends_on_every_rank_before_it_reads_anything(ran: Ran) -> None:
    unproven = ran.summaries["unproven"]
    assert [summary["kind"] for summary in unproven] == ["TransportError"] * 4
    assert "transport = SOCKET on 4 of 4 ranks" in unproven[0]["error"]  # and not that the data are missing
    folder = RunFolder(ran.arguments["unproven"].results, "unproven")
    assert [verdict["kind"] for verdict in json.loads(folder.read("transport.json") or "")] == ["SOCKET"] * 4
    assert folder.read("metrics.jsonl") is None


def test_held_out_sequences_are_evaluated_and_not_trained_on(ran: Ran, plain: list[float]) -> None:
    found = {name: rows(ran.arguments[name], "evaluations.jsonl") for name in ("evaluated", "alone-evaluated")}
    assert [row["step"] for row in found["evaluated"]] == [5, 10, 15, 20]
    # Eleven sequences on four ranks: the places that are left over do not count.
    mine, alone = ([row["loss"] for row in of] for of in found.values())
    assert mine == pytest.approx(alone, abs=CLOSE)
    assert mine[-1] < mine[0]
    assert ran.losses("evaluated") == pytest.approx(ran.losses("alone-evaluated"), abs=CLOSE)
    assert ran.losses("evaluated") != pytest.approx(plain, abs=CLOSE)


@pytest.mark.parametrize("name", CONFIGS)
def test_architectures(name: str, ran: Ran) -> None:
    one, two = ran.losses(f"{name}-1"), ran.losses(f"{name}-2")
    assert two == pytest.approx(one, abs=CLOSE)
    assert ran.summaries[f"{name}-2"][0]["parameters"] == ran.summaries[f"{name}-1"][0]["parameters"]


@pytest.mark.parametrize("name", ROUNDED)
def test_bfloat16_follows_float32_and_is_not_it(name: str, ran: Ran, plain: list[float]) -> None:
    assert ran.losses(name) == pytest.approx(plain, abs=0.05)
    assert ran.losses(name) != pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("name", ["resumed-4", "resumed-2", "resumed-other-mesh"])
def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(name: str, ran: Ran, plain: list[float]) -> None:
    assert [summary.get("error") for summary in ran.summaries[name]] == [None] * len(ran.summaries[name])
    assert ran.summaries[name][0]["resumed_from_step"] == 8
    assert ran.steps(name) == list(range(9, STEPS + 1))
    assert ran.losses(name) == pytest.approx(plain[8:], abs=CLOSE)
    # The run that was resumed is as it was.
    assert ran.steps("stopped") == list(range(1, 11))


def test_on_the_same_ranks_and_mesh_it_is_exact(ran: Ran) -> None:
    assert ran.losses("resumed-4") == ran.losses("hsdp")[8:]


@pytest.mark.failure_mode("G2")
def test_a_run_does_not_go_on_from_another_one(ran: Ran) -> None:
    first, *others = ran.summaries["refused"]
    assert first["kind"] == "InputError"
    assert (
        "--resume stopped: expected a run of the same settings: learning_rate was 0.005 and is 0.004" in first["error"]
    )
    assert {other["kind"] for other in others} == {"FollowerError"}
    # Nobody was left in a collective: the same processes can train.
    assert [summary.get("steps") for summary in ran.summaries["after-refusal"]] == [1] * 4


def test_an_error_on_rank_0_reaches_every_rank(ran: Ran) -> None:
    kinds = [summary["kind"] for summary in ran.summaries["missing"]]
    assert kinds == ["InputError", *["FollowerError"] * 3]
    assert all("/no/such/text" in summary["error"] for summary in ran.summaries["missing"])


@pytest.mark.failure_mode("G1")
def test_a_kill_during_a_checkpoint_to_s3_costs_the_steps_since_the_last_whole_one(
    ran: Ran, plain: list[float]
) -> None:
    # The first attempt was killed in step 12's checkpoint; the second runs on four ranks. run_gang has looked for
    # checkpoints below the working directory.
    assert [summary.get("error") for summary in ran.summaries["killed"]] == [None] * 4
    assert ran.summaries["killed"][0]["resumed_from_step"] == 8
    assert ran.steps("killed") == list(range(1, STEPS + 1))
    assert ran.losses("killed") == pytest.approx(plain, abs=CLOSE)


@pytest.mark.failure_mode("G5")
def test_the_newest_checkpoints_stay(ran: Ran) -> None:
    for name, kept in (("stopped", ["step-00000008"]), ("killed", ["step-00000016", "step-00000020"])):
        args = ran.arguments[name]
        folder = RunFolder(args.results, name)
        assert folder_names(folder.filesystem, f"{folder.path}/checkpoints") == kept
        files = file_sizes(folder.filesystem, f"{folder.path}/checkpoints/{kept[-1]}")
        assert {".metadata", "complete.json", "__0_0.distcp", "__3_0.distcp"} <= files.keys()
