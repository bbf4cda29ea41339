"""The driver against a real Ray of two CPUs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ray
from ray.train import WorkerGroupError

from tests.training.helpers import MakeArguments, losses
from training.train import LINES_OF_CAUSE, cause, main


@pytest.fixture(scope="module")
def two_cpus() -> Iterator[None]:
    ray.init(address="local", num_cpus=2, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.fixture
def flags(arguments: MakeArguments) -> Callable[..., list[str]]:
    def make(**changes: object) -> list[str]:
        given = vars(arguments()) | {"data": __file__, "workers": 2} | changes
        pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None)
        return [word for pair in pairs for word in pair]

    return make


def result(flags: list[str]) -> dict[str, object]:
    folder = Path(flags[flags.index("--results") + 1], flags[flags.index("--run-name") + 1])
    read: dict[str, object] = json.loads((folder / "result.json").read_text())
    return read


def test_a_run_on_two_workers(
    flags: Callable[..., list[str]], arguments: MakeArguments, two_cpus: None, capsys: pytest.CaptureFixture[str]
) -> None:
    # Refused before the trainer starts, where Ray would wait for ever.
    assert main(flags(workers=3)) == 2
    assert "--workers 3: expected at most the 2 CPUs of this Ray cluster" in capsys.readouterr().err
    # Written at the start, so that a folder that cannot be written costs seconds.
    assert main(flags(results="/dev/null/x")) == 2
    assert "error: --results /dev/null/x: expected a folder that can be written to" in capsys.readouterr().err

    assert main(flags(steps=4)) == 0
    got = result(flags())
    assert (got["status"], got["world_size"], got["backend"], got["steps"]) == ("succeeded", 2, "gloo", 4)
    assert got["last_loss"] == losses(arguments())[-1]
    assert len(losses(arguments())) == 4
    assert "4 steps on 2 x " in capsys.readouterr().out
    assert ray.is_initialized()  # a Ray that was connected before stays so


def test_a_failed_run(flags: Callable[..., list[str]], two_cpus: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(flags(learning_rate=1e38)) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("rank 0: RuntimeError: step 2: ")
    assert "Lower --learning-rate" in last
    got = result(flags())
    assert got["status"] == "failed"
    assert "Lower --learning-rate" in str(got["error"])


@pytest.mark.parametrize(
    "consequence",
    [
        RuntimeError("rank 0 failed: no such file"),
        RuntimeError("[gloo/transport/tcp/pair.cc:538] Connection closed by peer [127.0.0.1]:1234"),
    ],
)
def test_the_cause_is_the_rank_that_failed_first(consequence: Exception) -> None:
    assert cause(WorkerGroupError("", {0: consequence, 1: MemoryError("out of memory")})) == (
        "rank 1: MemoryError: out of memory"
    )
    assert str(consequence) in cause(WorkerGroupError("", {0: consequence}))


def test_a_long_cause_is_cut_to_its_end() -> None:
    lines = [f"line {number}" for number in range(500)]
    shown = cause(WorkerGroupError("", {3: ValueError("\n".join(lines))})).splitlines()
    assert len(shown) <= LINES_OF_CAUSE + 1
    assert shown[-1] == "line 499"
