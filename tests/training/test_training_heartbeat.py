"""The sign of life in result.json: that it comes, and that nothing of it comes after the end."""

import contextlib
import functools
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ray.train import TrainingFailedError

from tests.training.helpers import MakeArguments, words
from training import train
from training.deadline import deadline
from training.heartbeat import SECONDS_BETWEEN_SIGNS, Heartbeat
from training.results import RunFolder

OPERATIONS = Path(__file__).resolve().parents[2] / "docs/operations.md"
SHORT = 0.01
RUNNING = {"status": "running", "run_name": "run"}


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not found():
        assert time.monotonic() < end
        time.sleep(0.002)


def read(folder: RunFolder) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(folder.read("result.json") or "{}")
    return result


class SlowFolder(RunFolder):
    """Keeps what is written; a sign takes until `go` is set, when it is there."""

    def __init__(self) -> None:
        super().__init__("nowhere", "run")
        self.began, self.go = threading.Event(), threading.Event()
        self.written: list[Mapping[str, Any]] = []

    def write_result(self, result: Mapping[str, Any]) -> None:
        if "seen" in result:
            self.began.set()
            assert self.go.wait(10)
        self.written.append(result)


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_signs_come_until_the_end(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = RunFolder(str(tmp_path) if kind == "local" else request.getfixturevalue("s3"), "heartbeat")
    heartbeat, began = Heartbeat(folder, RUNNING, SHORT), time.time()
    heartbeat.sign()
    first = read(folder)
    assert first == RUNNING | {"seen": first["seen"]}
    assert began <= first["seen"] <= time.time()
    with heartbeat:
        until(lambda: read(folder)["seen"] > first["seen"])
    assert "heartbeat" not in [thread.name for thread in threading.enumerate()]
    heartbeat.finish({"status": "succeeded", "steps": 3})
    time.sleep(5 * SHORT)
    assert read(folder) == {"status": "succeeded", "run_name": "run", "steps": 3}


def test_what_the_operations_say_of_a_lost_run_leaves_room_for_a_sign_that_fails() -> None:
    told = re.search(
        r"renews `seen` in it every (\d+) minutes.*older than (\d+) minutes is lost", OPERATIONS.read_text()
    )
    assert told is not None
    renewed, lost = map(int, told.groups())
    assert renewed * 60 == SECONDS_BETWEEN_SIGNS
    assert lost > 2 * renewed


def test_the_last_result_waits_for_a_sign_that_is_being_written() -> None:
    folder = SlowFolder()
    with Heartbeat(folder, RUNNING, SHORT) as heartbeat:
        assert folder.began.wait(10)
        ending = threading.Thread(target=heartbeat.finish, args=({"status": "failed"},))  # as the deadline's does
        ending.start()
        time.sleep(5 * SHORT)
        assert folder.written == []
        folder.go.set()
        ending.join(10)
    assert [result["status"] for result in folder.written] == ["running", "failed"]


def test_a_sign_that_cannot_be_written_is_said_once_and_the_next_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    folder, failures = SlowFolder(), iter(range(3))
    folder.go.set()
    write = folder.write_result

    def failing(result: Mapping[str, Any]) -> None:
        if next(failures, None) is not None:
            raise OSError("no such bucket")
        write(result)

    folder.write_result = failing  # type: ignore[method-assign]
    with Heartbeat(folder, RUNNING, SHORT):
        until(lambda: folder.written)
    assert capsys.readouterr().err == "result.json in nowhere/run cannot be written: no such bucket\n"


def stopped() -> None:
    raise SystemExit(15)  # as Ray does on SIGTERM


def lost() -> None:
    raise TrainingFailedError("too many workers were lost")


SUMMARY = {"world_size": 1, "device": "CPU", "backend": "gloo", "first_loss": 2.0, "last_loss": 1.0}


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda: SUMMARY | {"tokens_per_second": 1.0}, "succeeded"),
        (lambda: {"failed": "TrainingError: the loss is not finite"}, "failed"),
        (lost, "failed"),
        (stopped, "failed"),
        (None, "failed"),
    ],
    ids=["succeeded", "failed", "lost", "stopped", "deadline"],
)
def test_no_sign_comes_after_the_end_of_a_run(
    end: Callable[[], Any] | None, status: str, arguments: MakeArguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = arguments(workers=1)
    folder, exited, left = RunFolder(args.results, args.run_name), threading.Event(), []

    def fit(*_: object) -> Any:
        if end is None:
            assert exited.wait(10)
            raise RuntimeError("the deadline has ended this process")
        before = read(folder)["seen"]
        until(lambda: read(folder)["seen"] > before)
        return end()

    def exit_now(code: int) -> None:
        time.sleep(5 * SHORT)
        left.append(read(folder))
        exited.set()

    monkeypatch.setattr("training.deadline.os._exit", exit_now)
    seconds: Any = 0.1 if end is None else None  # flags give whole ones
    monkeypatch.setattr(train, "deadline", lambda _, give_up: deadline(seconds, give_up))
    for name in ("init", "shutdown"):
        monkeypatch.setattr(f"training.train.ray.{name}", lambda **_: None)
    monkeypatch.setattr(train, "wait_for_workers", lambda *_: (1, False))
    monkeypatch.setattr(train, "nodes_with", lambda _: 1)
    monkeypatch.setattr(train, "fit", fit)
    monkeypatch.setattr(train, "Heartbeat", functools.partial(Heartbeat, seconds=SHORT))
    with contextlib.suppress(SystemExit, RuntimeError):
        train.main(words(args))
    left.append(read(folder))
    time.sleep(5 * SHORT)
    left.append(read(folder))
    assert {result["status"] for result in left} == {status}
    assert not any("seen" in result for result in left)
