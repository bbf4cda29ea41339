"""Where a run's files go: <results>/<run-name>/ in a local folder or in S3."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyarrow import fs

METRICS = "metrics.jsonl"
RESULT = "result.json"
# An object in S3 cannot be appended to. A worker that Ray kills uploads nothing more, so a lost run loses this much.
UPLOAD_SECONDS = 30.0


class RunFolder:
    """The folder of one run. Writing raises OSError."""

    def __init__(self, results: str, run_name: str) -> None:
        self.uri = f"{results.rstrip('/')}/{run_name}"
        self.local = Path(self.uri).absolute() if "://" not in self.uri else None

    def write(self, name: str, text: str) -> None:
        """Create or replace the file `name`."""
        if self.local is not None:
            self.local.mkdir(parents=True, exist_ok=True)
            (self.local / name).write_text(text, encoding="utf-8")
            return
        filesystem, path = fs.FileSystem.from_uri(self.uri)
        with filesystem.open_output_stream(f"{path}/{name}") as stream:
            stream.write(text.encode())

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write result.json."""
        self.write(RESULT, json.dumps(result, indent=2) + "\n")


class MetricsFile:
    """metrics.jsonl, one object per optimizer step: appended to at once locally, uploaded now and then to S3."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._lines: list[str] = []
        self._uploaded = time.monotonic()
        folder.write(METRICS, "")  # a run of the same name may have left one

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows. Raises ValueError for a number that JSON lacks (NaN, infinity)."""
        lines = [json.dumps(row, allow_nan=False) + "\n" for row in rows]
        if self._folder.local is not None:
            with (self._folder.local / METRICS).open("a", encoding="utf-8") as file:
                file.writelines(lines)
            return
        self._lines += lines
        if time.monotonic() - self._uploaded > UPLOAD_SECONDS:
            self._upload()

    def _upload(self) -> None:
        self._folder.write(METRICS, "".join(self._lines))
        self._uploaded = time.monotonic()

    def close(self) -> None:
        """Complete the file; also to be called when the run fails."""
        if self._folder.local is None:
            self._upload()
