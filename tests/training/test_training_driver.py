"""The driver against a real Ray of two CPUs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import ray
from ray.train import WorkerGroupError

from tests.training.helpers import MakeArguments, losses, words
from training.train import LINES_OF_CAUSE, cause, main


@pytest.fixture
def flags(arguments: MakeArguments) -> Callable[..., list[str]]:
    defaults = {"data": __file__, "workers": 2}
    return lambda **changes: words(arguments(**defaults | changes))


def result(flags: list[str]) -> dict[str, object]:
    folder = Path(flags[flags.index("--results") + 1], flags[flags.index("--run-name") + 1])
    read: dict[str, object] = json.loads((folder / "result.json").read_text())
    return read


def test_a_run_on_two_workers(
    flags: Callable[..., list[str]], arguments: MakeArguments, two_cpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Refused before the trainer starts, where Ray would wait for ever.
    assert main(flags(workers=3)) == 2
    assert "--workers 3: expected at most the 2 CPUs of this Ray cluster" in capsys.readouterr().err
    # Written at the start, so that a folder that cannot be written costs seconds.
    assert main(flags(results="/dev/null/x")) == 2
    assert "error: --results /dev/null/x: expected a folder that can be written to" in capsys.readouterr().err

    assert main(flags(steps=4, checkpoint_every=4)) == 0
    got = result(flags())
    assert (got["status"], got["world_size"], got["backend"], got["steps"]) == ("succeeded", 2, "gloo", 4)
    assert got["last_loss"] == losses(arguments())[-1]
    assert isinstance(got["transport"], dict)
    assert (got["transport"]["verdict"], got["transport"]["bytes"]["steps"]) == ("SOCKET", 3)
    # Ray's name of the one node that both workers are on.
    assert ray.nodes()[0]["NodeID"].startswith(got["transport"]["bytes"]["node"])
    assert len(losses(arguments())) == 4
    assert "4 steps on 2 x " in capsys.readouterr().out
    assert ray.is_initialized()  # a Ray that was connected before stays so
    # The same name again, without the launch that has the folder: nothing of the run is touched.
    before = Path(arguments().results, "run", "metrics.jsonl").read_text()
    assert main(flags(steps=4)) == 2
    said = capsys.readouterr().err
    assert "error: --run-name run: expected a name that no run below " in said
    assert "to go on from where that run stopped, add --resume run." in said
    assert Path(arguments().results, "run", "metrics.jsonl").read_text() == before
    # Nothing to go on from is known before a worker starts, too.
    assert main(flags(run_name="other", resume="never-ran")) == 2
    assert "--resume never-ran: expected a run below" in capsys.readouterr().err


@pytest.mark.failure_mode("B1")
@pytest.mark.failure_mode("F19")
def test_a_run_that_would_fail_again_fails_once_and_says_why(
    flags: Callable[..., list[str]], two_cpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags(require_transport="efa", workers=1)) == 1
    said = capsys.readouterr().err.strip().partition("the workers' log is above.\n")[2].splitlines()
    assert said[0] == "TransportError: transport = SOCKET on 1 of 1 ranks"
    assert said[-1] == "    to do:    EFA needs NCCL, so GPUs; without them require no transport"
    got = result(flags())
    assert (got["status"], got["error"]) == ("failed", "\n".join(said))
    # Worker logs go with the cluster: what was found is in the run's folder.
    results = Path(flags()[flags().index("--results") + 1])
    (verdict,) = json.loads((results / "run" / "transport.json").read_text())
    assert (verdict["kind"], verdict["seen"]["backend"]) == ("SOCKET", "gloo")


def test_a_run_that_is_stopped_says_so(
    flags: Callable[..., list[str]], two_cpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise SystemExit(15)  # as Ray does on SIGTERM

    monkeypatch.setattr("training.train.fit", stopped)
    with pytest.raises(SystemExit):
        main(flags(workers=1))
    assert (result(flags())["status"], result(flags())["error"]) == ("failed", "it was stopped by a signal")


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
