"""Where metrics and result go, and whose they are."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from training import results
from training.errors import InputError
from training.results import JsonLines, RunFolder


@pytest.fixture(params=["local", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], RunFolder]]:
    """Make a run's folder by its name, on a disk and in S3."""
    base = str(tmp_path / "new") if request.param == "local" else f"{request.getfixturevalue('s3')}/{tmp_path.name}/"
    yield lambda name: RunFolder(base, name)


def test_a_file_is_written_whole_read_and_replaced(folder: Callable[[str], RunFolder]) -> None:
    run = folder("run")
    assert run.read("result.json") is None
    run.write_result({"status": "running", "a long one": "x" * 99})
    run.write_result({"status": "succeeded"})
    assert json.loads(run.read("result.json") or "") == {"status": "succeeded"}
    assert folder("other").read("result.json") is None


def test_rows_of_an_earlier_attempt_stay_as_far_as_they_are_not_repeated(folder: Callable[[str], RunFolder]) -> None:
    run = folder("run")
    first = JsonLines(run, "metrics.jsonl", lambda row: False)
    first.append([{"step": 1}, {"step": 2}])
    first.append([{"step": 3}])
    first.flush()
    second = JsonLines(run, "metrics.jsonl", lambda row: row["step"] <= 2)
    assert run.read("metrics.jsonl") == '{"step": 1}\n{"step": 2}\n'
    second.append([{"step": 3, "again": True}])
    second.flush()
    assert run.read("metrics.jsonl") == '{"step": 1}\n{"step": 2}\n{"step": 3, "again": true}\n'


def test_the_half_line_of_a_killed_process_is_dropped(folder: Callable[[str], RunFolder]) -> None:
    run = folder("run")
    run.write("metrics.jsonl", '{"step": 1}\n{"step": 2, "lo')
    assert JsonLines(run, "metrics.jsonl", lambda row: True).rows == [{"step": 1}]


def test_a_local_file_grows_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    file = JsonLines(RunFolder(str(tmp_path), "run"), "metrics.jsonl", lambda row: True)
    assert path.read_text() == ""
    file.append([{"step": 1}])
    assert path.read_text() == '{"step": 1}\n'


def test_s3_is_written_now_and_then_and_at_a_flush(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(s3, "now-and-then")
    file = JsonLines(run, "metrics.jsonl", lambda row: True)
    file.append([{"step": 1}])
    assert run.read("metrics.jsonl") == ""
    monkeypatch.setattr(results, "UPLOAD_SECONDS", -1.0)
    file.append([{"step": 2}])
    assert run.read("metrics.jsonl") == '{"step": 1}\n{"step": 2}\n'
    monkeypatch.undo()
    file.append([{"step": 3}])
    file.flush()
    assert (run.read("metrics.jsonl") or "").endswith('{"step": 3}\n')


@pytest.mark.failure_mode("G2")
def test_a_folder_belongs_to_one_launch(folder: Callable[[str], RunFolder]) -> None:
    folder("run").claim("run", "launch-1", {"run_name": "run"})
    folder("run").claim("run", "launch-1", {"run_name": "run"})  # a restart of the same
    with pytest.raises(InputError) as error:
        folder("run").claim("run", "launch-2", {"run_name": "run"})
    assert (error.value.field, error.value.value) == ("run-name", "run")
    assert error.value.remedy.endswith("add --resume run.")
    folder("other").claim("other", "launch-2", {"run_name": "other"})
    folder("broken").write("run.json", "")
    with pytest.raises(InputError, match="run-name"):
        folder("broken").claim("broken", "launch-1", {"run_name": "broken"})


def test_only_a_run_whose_end_nobody_wrote_is_marked_as_lost(folder: Callable[[str], RunFolder]) -> None:
    for status in ("running", "failed"):
        run = folder(status)
        run.write_result({"status": status, "run_name": status})
        run.mark_lost("next")
    lost, failed = (json.loads(folder(status).read("result.json") or "") for status in ("running", "failed"))
    assert lost == {"status": "lost", "run_name": "running", "resumed_by": "next"}
    assert failed == {"status": "failed", "run_name": "failed"}
    folder("never-began").mark_lost("next")
    assert folder("never-began").read("result.json") is None


def test_what_json_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        JsonLines(RunFolder(str(tmp_path), "run"), "metrics.jsonl", lambda row: True).append([{"loss": float("nan")}])
