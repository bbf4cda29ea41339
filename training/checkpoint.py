"""Checkpoints of a run: written while it goes on, whole or not there, and loaded on any number of workers.

Nothing is reported to Ray Train. Its `report` is a barrier that the controller answers twice a second at most, and its
own list of checkpoints can lag behind, or name one that is no longer there; what is in the folder cannot.
"""

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import async_save

from training.errors import TrainingError
from training.results import RunFolder
from training.storage import ArrowReader, ArrowWriter, delete_folder, file_sizes, folder_names

FOLDER = "checkpoints"
# Written last: a checkpoint without it, or whose files differ from what it says, is not there.
COMPLETE = "complete.json"
NAME = re.compile(r"step-(\d{8})")


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: where it is, and the run's position in it.

    `samples` is the global sample cursor; it and `step` give the learning rate, the data and the random numbers.
    `fingerprint` holds the settings that the run is defined by, `files` the size in bytes of each file.
    """

    path: str
    step: int
    samples: int
    world_size: int
    fingerprint: Mapping[str, Any]
    files: Mapping[str, int]


class CheckpointFolder:
    """The checkpoints in a run's folder, for one process."""

    def __init__(self, folder: RunFolder) -> None:
        self._filesystem = folder.filesystem
        self._path = f"{folder.path}/{FOLDER}"

    def newest(self) -> Checkpoint | None:
        """Return the newest whole checkpoint, None when there is none."""
        return next((whole for name in reversed(self._names()) if (whole := self._read(name)) is not None), None)

    def remove_partial(self) -> None:
        """Delete what a save that did not end has left. Before any save."""
        for name in self._names():
            if self._read(name) is None:
                delete_folder(self._filesystem, f"{self._path}/{name}")

    def _names(self) -> list[str]:
        return [name for name in folder_names(self._filesystem, self._path) if NAME.fullmatch(name)]

    def _read(self, name: str) -> Checkpoint | None:
        path = f"{self._path}/{name}"
        sizes = file_sizes(self._filesystem, path)
        if COMPLETE not in sizes:
            return None
        try:
            with self._filesystem.open_input_stream(f"{path}/{COMPLETE}") as stream:
                whole = Checkpoint(path, **json.loads(stream.read()))
        except (ValueError, TypeError):
            return None  # the marker was being written when its writer was lost
        except OSError:  # for S3 no FileNotFoundError
            if COMPLETE in file_sizes(self._filesystem, path):
                raise
            return None  # it has been deleted since
        return whole if all(sizes.get(file) == size for file, size in whole.files.items()) else None


class Checkpoints(CheckpointFolder):
    """The checkpoints of this run, of which the newest `keep` stay. All ranks make one, at the same time."""

    def __init__(self, folder: RunFolder, keep: int) -> None:
        super().__init__(folder)
        self._keep = keep
        # Of its own: on the training's group a save's collectives wait for the steps', and the steps' for the save's.
        self._group = dist.new_group(backend="gloo")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def save(
        self, root: nn.Module, optimizer: torch.optim.Optimizer, position: Mapping[str, Any], first: Callable[[], None]
    ) -> None:
        """Copy the state and write it while training goes on. `position` gives Checkpoint's other fields.

        `first` runs on rank 0 before the checkpoint counts as whole: what a run that goes on from it must find. A save
        before this one is waited for, and raises its error here.
        """
        self.wait()
        path = f"{self._path}/step-{position['step']:08d}"
        written = async_save(
            _state(root, optimizer), storage_writer=ArrowWriter(self._filesystem, path), process_group=self._group
        )
        assert isinstance(written, Future)
        self._pending = self._thread.submit(self._commit, written, path, position, first)

    def wait(self) -> None:
        """Return when the last save is whole. Raises its error."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """End the thread, after the save that it is at."""
        self._thread.shutdown()

    def load(self, checkpoint: Checkpoint, root: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Put the checkpoint into the model and optimizer: on all ranks, however many have written it.

        Raises TrainingError when its files cannot be read.
        """
        state = _state(root, optimizer)
        reader = ArrowReader(self._filesystem, checkpoint.path)
        try:
            load(state, storage_reader=reader, process_group=self._group)
        except CheckpointException as error:  # on all ranks: they tell each other
            raise TrainingError(
                f"checkpoint {checkpoint.path} is complete and cannot be read: its files have changed since. Delete "
                f"its folder to go on from the one before. {_first_cause(error)}"
            ) from error
        set_state_dict(root, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])

    def _commit(self, written: Future[Any], path: str, position: Mapping[str, Any], first: Callable[[], None]) -> None:
        written.result()  # on rank 0 this means: every rank's files and, after them, the metadata are written
        if dist.get_rank() != 0:
            return
        first()
        files = file_sizes(self._filesystem, path)
        whole = Checkpoint(path, world_size=dist.get_world_size(), files=files, **position)
        text = json.dumps({name: value for name, value in asdict(whole).items() if name != "path"}, indent=2)
        with self._filesystem.open_output_stream(f"{path}/{COMPLETE}") as stream:
            stream.write(text.encode())
        for name in self._names()[: -self._keep]:
            delete_folder(self._filesystem, f"{self._path}/{name}")


def _first_cause(error: CheckpointException) -> str:
    rank, (cause, _) = min(error.failures.items())
    return f"Rank {rank}: {type(cause).__name__}: {cause}"


def _state(root: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    model, optimizer_state = get_state_dict(root, optimizer)
    return {"model": model, "optimizer": optimizer_state}
