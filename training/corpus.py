"""The documents behind --data: text, jsonl or parquet, on a disk, in S3, or of a data set on the hub."""

import io
import json
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub import snapshot_download
from pyarrow import fs

from training.arguments import HUB_DATA, STDLIB, SYNTHETIC, Arguments
from training.errors import InputError
from training.results import open_uri

TEXT = {".txt", ".md", ".py"}
RECORDS = {".jsonl", ".parquet"}
# Installed packages differ between machines, and Python's own tests hold sources that are broken on purpose.
NOT_STDLIB = {"site-packages", "dist-packages", "test", "tests"}
# Characters read at a time: enough to keep the tokenizer busy, little enough for a file that is one document.
PIECE = 1 << 20
# Of a column; one that is encoded as a dictionary has values of these.
IS_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
# Rows of a parquet file read at a time.
ROWS = 1024


@dataclass(frozen=True)
class SourceFile:
    """One file: `name` below the root of the data, and what tells one version of it from another."""

    path: str
    name: str
    size: int
    modified: str

    @property
    def suffix(self) -> str:
        """The kind of file, such as .jsonl."""
        return Path(self.name).suffix


@dataclass(frozen=True)
class Corpus:
    """Files in a fixed order, on the file system that holds them; `field` is the column of records with the text."""

    data: str
    filesystem: fs.FileSystem
    files: list[SourceFile]
    field: str

    def documents(self) -> Iterator[Iterator[str]]:
        """Yield each document in pieces: a text file is one, and so is each record. Raises InputError."""
        for file in self.files:
            if file.suffix in TEXT:
                yield self._text(file)
            elif file.suffix == ".jsonl":
                yield from (iter([text]) for text in self._jsonl(file))
            else:
                yield from (iter([text]) for text in self._parquet(file))

    def _text(self, file: SourceFile) -> Iterator[str]:
        try:
            with self.filesystem.open_input_file(file.path) as stream:
                reader = io.TextIOWrapper(stream, encoding="utf-8")
                while lines := reader.readlines(PIECE):
                    yield "".join(lines)
        except UnicodeDecodeError as error:
            remedy = f"Convert or remove this file: {error}"
            raise InputError("data", self._shown(file), "UTF-8 text", remedy) from error

    def _jsonl(self, file: SourceFile) -> Iterator[str]:
        number = 0
        rest = ""
        for piece in self._text(file):
            lines = (rest + piece).split("\n")
            rest = lines.pop()
            for line in lines:
                number += 1
                if line.strip():
                    yield self._record(file, number, line)
        if rest.strip():
            yield self._record(file, number + 1, rest)

    def _record(self, file: SourceFile, number: int, line: str) -> str:
        where = f"{self._shown(file)}, line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError("data", where, "one JSON object per line", f"Correct it: {error}") from error
        text = record.get(self.field) if isinstance(record, dict) else None
        if not isinstance(text, str):
            found = "it is no object"
            if isinstance(record, dict):
                found = (
                    f"it is {json.dumps(text)[:40]}" if self.field in record else f"it has {', '.join(sorted(record))}"
                )
            raise InputError(
                "data", where, f"a text under {self.field!r}, and {found}", "Name the right one by --text-field."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:  # JSON can write half a surrogate pair
            raise InputError("data", where, "a text that UTF-8 can hold", f"Correct it: {error}") from error
        return text

    def _parquet(self, file: SourceFile) -> Iterator[str]:
        with self.filesystem.open_input_file(file.path) as stream:
            try:
                table = pq.ParquetFile(stream)
            except (OSError, ValueError) as error:
                remedy = f"Remove it, or write it again: {error}"
                raise InputError("data", self._shown(file), "a parquet file", remedy) from error
            if self.field not in table.schema_arrow.names:
                raise InputError(
                    "data",
                    self._shown(file),
                    f"a column {self.field!r}, and it has {', '.join(table.schema_arrow.names)}",
                    "Name the right one by --text-field.",
                )
            kind = table.schema_arrow.field(self.field).type
            if not any(is_text(kind.value_type if pa.types.is_dictionary(kind) else kind) for is_text in IS_TEXT):
                raise InputError(
                    "data",
                    self._shown(file),
                    f"texts in the column {self.field!r}, and they are {kind}",
                    "Name the right one by --text-field; conversations have to be written as one text each.",
                )
            try:
                for batch in table.iter_batches(batch_size=ROWS, columns=[self.field]):
                    yield from (text for text in batch.column(0).to_pylist() if text)
            except (OSError, ValueError) as error:
                remedy = f"Write it again: {error}"
                raise InputError("data", self._shown(file), "a parquet file that can be read", remedy) from error

    def _shown(self, file: SourceFile) -> str:
        return self.data if file.path.endswith(self.data) else f"{self.data}/{file.name}"


def open_corpus(args: Arguments) -> Corpus:
    """Find the files of --data. Raises InputError when there are none, or --text-field would be ignored.

    A data set of the hub is downloaded here, at --data-revision, unless it is in the local cache.
    """
    suffixes = (
        {".py"} if args.data == STDLIB else RECORDS | {".txt"} if args.data.startswith(HUB_DATA) else TEXT | RECORDS
    )
    filesystem, root, commit = _root(args, suffixes)
    skipped = NOT_STDLIB if args.data == STDLIB else set()
    try:
        info = filesystem.get_file_info(root)
        found = (
            filesystem.get_file_info(fs.FileSelector(root, recursive=True))
            if info.type == fs.FileType.Directory
            else []
        )
    except OSError as error:
        raise _no_access(args, error) from error
    if info.type == fs.FileType.NotFound:
        raise InputError(
            "data",
            args.data,
            f"'{SYNTHETIC}', '{STDLIB}', a file or a folder, local or s3://, or {HUB_DATA}org/name",
            "There is no such file or folder here: check the path.",
        )
    if info.type == fs.FileType.File:
        files = [SourceFile(root, Path(root).name, info.size, str(info.mtime_ns))]
    else:
        files = sorted(
            (
                SourceFile(entry.path, name, entry.size, commit or str(entry.mtime_ns))
                for entry in found
                if entry.type == fs.FileType.File
                and Path(name := entry.path.removeprefix(root).lstrip("/")).suffix in suffixes
                # Hidden folders are no data: .git, or the ..data link that doubles every file of a mounted ConfigMap.
                and not any(part in skipped or part[0] == "." for part in Path(name).parts)
            ),
            key=lambda file: Path(file.name).parts,
        )
    if not files:
        raise InputError("data", args.data, f"a folder with files {', '.join(sorted(suffixes))}", "It holds none.")
    if unknown := sorted({file.suffix for file in files} - suffixes):
        raise InputError("data", args.data, f"a file {', '.join(sorted(suffixes))}", f"{unknown[0]} is not read.")
    if args.text_field is not None and not any(file.suffix in RECORDS for file in files):
        raise InputError("text-field", args.text_field, "none for plain text", "Drop it.")
    return Corpus(args.data, filesystem, files, args.text_field or "text")


def _no_access(args: Arguments, error: Exception) -> InputError:
    return InputError("data", args.data, "a place that can be read", f"Check name and access: {error}")


def _root(args: Arguments, suffixes: set[str]) -> tuple[fs.FileSystem, str, str | None]:
    """Return where the files are, and their commit if they are from the hub: there a file's time is its download's."""
    if args.data == STDLIB:
        return *open_uri(sysconfig.get_path("stdlib")), None
    if not args.data.startswith(HUB_DATA):
        try:
            return *open_uri(args.data.rstrip("/")), None
        except (OSError, ValueError) as error:
            raise _no_access(args, error) from error
    organisation, _, rest = args.data.removeprefix(HUB_DATA).partition("/")
    name, _, folder = rest.partition("/")
    try:
        patterns = [f"{folder + '/' if folder else ''}*{suffix}" for suffix in sorted(suffixes)]
        local = snapshot_download(
            f"{organisation}/{name}", repo_type="dataset", revision=args.data_revision, allow_patterns=patterns
        )
    except (OSError, ValueError) as error:
        at = f" at revision {args.data_revision}" if args.data_revision else ""
        remedy = f"Check the name{at}, the network and HF_TOKEN; the hub says: {str(error).splitlines()[0]}"
        raise InputError("data", args.data, f"a data set of the hub, {HUB_DATA}org/name", remedy) from error
    return *open_uri(str(Path(local, folder))), Path(local).name
