"""What bounds a run in time: the wait for a cluster that is too small, and the deadline."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import ray

from training.arguments import parse
from training.errors import InputError
from training.train import wait_for_workers

HANGS = """
import time
from training.deadline import deadline
with deadline({seconds}, lambda reason: print("given up:", reason, flush=True)):
    time.sleep({work})
print("finished")
"""


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, float]]]:
    """What the cluster has at each look, the last for ever; waiting takes no time."""
    states: list[dict[str, float]] = []
    monkeypatch.setattr(ray, "cluster_resources", lambda: states.pop(0) if len(states) > 1 else states[0])
    monkeypatch.setattr("training.train.time.sleep", lambda seconds: None)
    yield states


def test_a_worker_that_is_being_replaced_is_waited_for(
    looks: list[dict[str, float]], capsys: pytest.CaptureFixture[str]
) -> None:
    looks += [{"GPU": 4.0}, {"GPU": 4.0}, {"GPU": 8.0}]
    assert wait_for_workers(8, 600) == (8, True)
    assert capsys.readouterr().out.count("expected at most the 4 GPUs of this Ray cluster") == 2


@pytest.mark.failure_mode("G3")
def test_a_cluster_that_stays_too_small_is_refused(looks: list[dict[str, float]]) -> None:
    looks += [{"GPU": 4.0}]
    with pytest.raises(InputError, match="--workers 8: expected at most the 4 GPUs"):
        wait_for_workers(8, 0.05)


def test_without_a_number_of_workers_nothing_is_waited_for(looks: list[dict[str, float]]) -> None:
    looks += [{"CPU": 4.0}, {"GPU": 8.0}]
    with pytest.raises(InputError, match="this Ray cluster has no GPU"):
        wait_for_workers(None, 600)


def _run(seconds: str, work: float) -> subprocess.CompletedProcess[str]:
    code = HANGS.format(seconds=seconds, work=work)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_a_run_that_hangs_ends_itself() -> None:
    result = _run("0.5", 300)
    assert result.returncode == 124
    assert result.stdout.startswith("given up: still training after 0.5 s, its --deadline-seconds")


@pytest.mark.parametrize("seconds", ["30", "None"])
def test_a_run_within_its_deadline_is_left_alone(seconds: str) -> None:
    result = _run(seconds, 0.1)
    assert (result.returncode, result.stdout) == (0, "finished\n")


@pytest.mark.parametrize(
    ("flag", "value", "expected"),
    [("wait-seconds", "-1", "at least 0"), ("deadline-seconds", "0", "at least 1"), ("deadline-seconds", "x", "whole")],
)
def test_bad_limits(flag: str, value: str, expected: str) -> None:
    with pytest.raises(InputError, match=f"--{flag} .*{expected}"):
        parse(f"--run-name r --model m --data stdlib --results r --{flag} {value}".split())
