"""torch.distributed.checkpoint over a pyarrow file system, the one that Ray uses for the run.

Given a plain path, DCP opens it as a local one: `bucket/prefix` of an S3 run would become a folder below the working
directory of each pod, without an error.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

from pyarrow import fs
from torch.distributed.checkpoint.filesystem import FileSystemBase, FileSystemReader, FileSystemWriter


class ArrowFiles(FileSystemBase):
    """What DCP asks of a file system, from pyarrow's. Paths are strings on that file system."""

    def __init__(self, filesystem: fs.FileSystem) -> None:
        self._filesystem = filesystem

    @contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[io.IOBase]:
        """Open `path` for reading ("rb") or writing ("wb")."""
        opened = self._filesystem.open_input_file if mode == "rb" else self._filesystem.open_output_stream
        with opened(str(path)) as stream:
            yield cast(io.IOBase, stream)

    def concat_path(self, path: Any, suffix: str) -> str:
        """Return the path of `suffix` below `path`."""
        return f"{path}/{suffix}"

    def init_path(self, path: Any) -> str:
        """Return `path` as a string."""
        return str(path)

    def rename(self, path: Any, new_path: Any) -> None:
        """Move a file; in S3, copy and delete."""
        self._filesystem.move(str(path), str(new_path))

    def mkdir(self, path: Any) -> None:
        """Create a folder and those above it; S3 has none."""
        if self._filesystem.type_name != "s3":
            self._filesystem.create_dir(str(path), recursive=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Say no: this file system is given, never guessed from a path."""
        return False

    def exists(self, path: Any) -> bool:
        """Whether there is something at `path`."""
        return bool(self._filesystem.get_file_info(str(path)).type != fs.FileType.NotFound)

    def rm_file(self, path: Any) -> None:
        """Delete a file."""
        self._filesystem.delete_file(str(path))


class ArrowWriter(FileSystemWriter):
    """Writes a checkpoint to the folder `path` of `filesystem`."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        super().__init__(path, sync_files=False)  # pyarrow's files have no descriptor to sync
        self.fs = cast(Any, ArrowFiles(filesystem))
        self.path = cast(Any, path)


class ArrowReader(FileSystemReader):
    """Reads a checkpoint from the folder `path` of `filesystem`."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        super().__init__(path)
        self.fs = cast(Any, ArrowFiles(filesystem))
        self.path = cast(Any, path)

    def _slice_file(self, file: Any, sinfo: Any) -> IO[bytes]:
        # In one read: torch.load seeks about in small steps, and each would be a request to S3.
        file.seek(sinfo.offset)
        return io.BytesIO(file.read(sinfo.length))


def delete_folder(filesystem: fs.FileSystem, path: str) -> None:
    """Delete a folder with what is in it; nothing happens when there is none."""
    with suppress(FileNotFoundError):
        filesystem.delete_dir(path)


def file_sizes(filesystem: fs.FileSystem, path: str) -> dict[str, int]:
    """Return the size of each file directly in the folder `path`, by name; empty when there is none."""
    found = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return {entry.base_name: entry.size for entry in found if entry.type == fs.FileType.File}


def folder_names(filesystem: fs.FileSystem, path: str) -> list[str]:
    """Return the names of the folders directly in `path`, in order; empty when there is none."""
    found = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return sorted(entry.base_name for entry in found if entry.type == fs.FileType.Directory)
