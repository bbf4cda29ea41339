"""Where a run's files go: <results>/<run-name>/ in a local folder or in S3."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pyarrow import fs

from training.errors import InputError

METRICS = "metrics.jsonl"
EVALUATIONS = "evaluations.jsonl"
RESULT = "result.json"
TRANSPORT = "transport.json"
RUN = "run.json"
RUNNING = "running"
# An object in S3 cannot be appended to. What a lost run has not uploaded is written again when it goes on.
UPLOAD_SECONDS = 30.0


class RunFolder:
    """The folder of one run, on the file system that Ray would use for it. Writing raises OSError."""

    def __init__(self, results: str, run_name: str) -> None:
        self.uri = f"{results.rstrip('/')}/{run_name}"
        self.local = Path(self.uri).absolute() if "://" not in self.uri else None

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        return open_uri(self.uri)  # for S3 this asks where the bucket is

    @property
    def filesystem(self) -> fs.FileSystem:
        """The file system that the folder is on. Raises OSError when it cannot be reached."""
        return self._opened[0]

    @property
    def path(self) -> str:
        """The folder's path on that file system."""
        return self._opened[1]

    def write(self, name: str, text: str) -> None:
        """Create or replace the file `name`: never half of it, for a reader may come at any time."""
        if self.local is not None:
            self.local.mkdir(parents=True, exist_ok=True)
            partial = self.local / f".{name}.partial"
            partial.write_text(text, encoding="utf-8")
            partial.replace(self.local / name)
            return
        with self.filesystem.open_output_stream(f"{self.path}/{name}") as stream:
            stream.write(text.encode())

    def read(self, name: str) -> str | None:
        """Return the text of the file `name`, None when there is none. Raises OSError."""
        path = f"{self.path}/{name}"
        if self.filesystem.get_file_info(path).type != fs.FileType.File:
            return None
        with self.filesystem.open_input_stream(path) as stream:
            return bytes(stream.read()).decode()

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write result.json."""
        self.write(RESULT, json.dumps(result, indent=2) + "\n")

    def mark_lost(self, resumed_by: str) -> None:
        """Have result.json no longer say that the run is running, when its end was not written. Raises OSError.

        With Ray's head the driver and its supervisor are gone too, and nobody is left to write it.
        """
        result = json.loads(self.read(RESULT) or "{}")
        if result.get("status") == RUNNING:
            self.write_result(result | {"status": "lost", "resumed_by": resumed_by})

    def claim(self, run_name: str, launch: str, about: Mapping[str, Any]) -> None:
        """Take the folder for `launch`, a token that only restarts of the same run share.

        Raises InputError when another launch has it: its metrics and checkpoints are not this run's.
        """
        text = self.read(RUN)
        if text is None:
            self.write(RUN, json.dumps({"launch": launch} | dict(about), indent=2) + "\n")
        elif json.dumps(launch) not in text:
            raise InputError(
                "run-name",
                run_name,
                f"a name that no run below {self.uri.rpartition('/')[0]} has",
                f"Choose a new one; to go on from where that run stopped, add --resume {run_name}.",
            )


def open_uri(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a local path or s3:// URI, and the path on it."""
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    filesystem, path = fs.FileSystem.from_uri(place)
    return filesystem, path


class JsonLines:
    """A file of one JSON object per line: appended to at once locally, uploaded now and then to S3."""

    def __init__(self, folder: RunFolder, name: str, keep: Callable[[Mapping[str, Any]], bool]) -> None:
        """Begin with those rows that an earlier attempt left and `keep` accepts: the others are about to come again."""
        self._folder = folder
        self._name = name
        left = [json.loads(line) for line in (folder.read(name) or "").splitlines() if _is_whole(line)]
        self.rows: list[Mapping[str, Any]] = [row for row in left if keep(row)]
        self._lock = threading.Lock()  # checkpoints flush from a thread of their own
        self._write()

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows. Raises ValueError for a number that JSON lacks (NaN, infinity)."""
        new = list(rows)
        lines = [_line(row) for row in new]
        self.rows += new
        if self._folder.local is not None:
            with (self._folder.local / self._name).open("a", encoding="utf-8") as file:
                file.writelines(lines)
        elif time.monotonic() - self._uploaded > UPLOAD_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Complete the file; also to be called when the run fails."""
        if self._folder.local is None:
            self._write()

    def _write(self) -> None:
        with self._lock:
            self._folder.write(self._name, "".join(map(_line, self.rows)))
            self._uploaded = time.monotonic()


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, allow_nan=False) + "\n"


def _is_whole(line: str) -> bool:
    """Whether a line was written to its end, which the last one of a killed process may not be."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
