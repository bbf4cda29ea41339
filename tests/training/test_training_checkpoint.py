"""Which checkpoint is the newest, while others write and delete."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from training.checkpoint import COMPLETE, CheckpointFolder
from training.results import RunFolder
from training.storage import delete_folder


def write(run: RunFolder, step: int, *, whole: bool = True) -> None:
    state = {"step": step, "samples": 8 * step, "world_size": 2, "fingerprint": {}, "files": {"a": 3}}
    run.write(f"checkpoints/step-{step:08d}/a", "abc")
    if whole:
        run.write(f"checkpoints/step-{step:08d}/{COMPLETE}", json.dumps(state))


@pytest.fixture
def run(s3: str, tmp_path: Path) -> RunFolder:
    return RunFolder(f"{s3}/{tmp_path.name}", "run")


def test_the_newest_whole_one_counts(run: RunFolder) -> None:
    assert CheckpointFolder(run).newest() is None
    for step, whole in ((4, True), (8, True), (12, False)):
        write(run, step, whole=whole)
    newest = CheckpointFolder(run).newest()
    assert newest is not None
    assert (newest.step, newest.samples) == (8, 64)


@pytest.mark.parametrize("marker", ["", "{", "{}", '{"step": 12}', "[]"])
def test_one_whose_marker_is_cut_or_another_does_not_count(run: RunFolder, marker: str) -> None:
    write(run, 4)
    write(run, 8)
    run.write(f"checkpoints/step-00000008/{COMPLETE}", marker)
    newest = CheckpointFolder(run).newest()
    assert newest is not None
    assert newest.step == 4


class Deleting:
    """A file system whose files are gone once they are open, as when another process deletes them."""

    def __init__(self, real: fs.FileSystem) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def open_input_stream(self, path: str) -> Any:
        stream = self._real.open_input_stream(path)
        delete_folder(self._real, str(Path(path).parent))
        return stream


def test_one_that_is_deleted_while_it_is_read_does_not_count(run: RunFolder) -> None:
    write(run, 4)
    vars(run)["_opened"] = (Deleting(run.filesystem), run.path)
    assert CheckpointFolder(run).newest() is None
