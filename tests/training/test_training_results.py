"""Where metrics and result go."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import fs

from training import results
from training.results import MetricsFile, RunFolder


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for s3://."""

    def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
        scheme, _, path = uri.partition("://")
        assert scheme == "s3"
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), path

    # pyarrow's own class cannot be patched.
    monkeypatch.setattr(results, "fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=from_uri)))
    folder = tmp_path / "bucket" / "prefix" / "run"
    folder.mkdir(parents=True)
    return folder


def test_a_local_file_grows_line_by_line_and_replaces_an_older_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run" / "metrics.jsonl"
    for _ in range(2):
        file = MetricsFile(RunFolder(str(tmp_path / "new"), "run"))
        assert path.read_text() == ""
        file.append([{"step": 1}])
        assert path.read_text() == '{"step": 1}\n'
        file.append([{"step": 2}, {"step": 3}])
        assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
        file.close()
        assert len(path.read_text().splitlines()) == 3


def test_s3_is_written_at_the_end_and_now_and_then(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bucket / "metrics.jsonl"
    file = MetricsFile(RunFolder("s3://bucket/prefix/", "run"))
    file.append([{"step": 1}])
    assert path.read_text() == ""
    monkeypatch.setattr(results, "UPLOAD_SECONDS", -1.0)
    file.append([{"step": 2}])
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'


def test_closing_completes_the_file_in_s3(bucket: Path) -> None:
    file = MetricsFile(RunFolder("s3://bucket/prefix", "run"))
    file.append([{"step": 1}])
    file.close()
    assert (bucket / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_the_result_is_json(bucket: Path, tmp_path: Path) -> None:
    for folder, path in (
        (RunFolder("s3://bucket/prefix", "run"), bucket),
        (RunFolder(str(tmp_path), "local"), tmp_path / "local"),
    ):
        folder.write_result({"status": "succeeded"})
        assert json.loads((path / "result.json").read_text()) == {"status": "succeeded"}


def test_what_json_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        MetricsFile(RunFolder(str(tmp_path), "run")).append([{"loss": float("nan")}])
