"""One reader: a process as a worker of Ray Train is one, which reads batches and keeps what tells them apart."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import ray
import torch

from bench.data_sources import Source
from bench.data_task import SEQUENCE_LENGTH, Task
from training.model import read_config
from training.tokens import TokenFile, prepare

Marks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Read:
    """What one reader had: when it began to wait and when it had its first batch and the end, on the machine's clock.

    `marks` are one number for each sequence, of shape (steps, sequences a step).
    """

    first: float
    last: float
    marks: Marks


class Reader:
    """An actor. It is ready when it has imported what a training worker has."""

    def pid(self) -> int:
        """Return its process."""
        return os.getpid()

    def prepare(self, task: Task) -> TokenFile:
        """Tokenise the documents unless that was done: what rank 0 does before the first step."""
        args = task.arguments()
        found = prepare(args, read_config(args))
        assert found is not None  # only synthetic data has no file
        return found

    def read(self, source: Source, start: int) -> Read:
        """Read from global batch `start` to the end of the pass."""
        # Any fixed odd numbers: the sum wraps, and differs when a token does.
        weights = torch.arange(1, 2 * SEQUENCE_LENGTH, 2)
        first = None
        marks = []
        for ids, targets in source.batches(start):
            first = first or time.monotonic()
            marks.append((ids * weights + targets).sum(dim=1).numpy())
        last = time.monotonic()
        return Read(first or last, last, np.array(marks, dtype=np.int64))


# No CPU of Ray's: readers wait for most of the time, and Ray Data's tasks are to have both.
RemoteReader = ray.remote(Reader).options(num_cpus=0, max_concurrency=2)


@dataclass(frozen=True)
class Pass:
    """A pass by all readers. Seconds since it was asked for; `marks` of shape (steps, sequences a global batch)."""

    first_seconds: float
    seconds: float
    marks: Marks

    @property
    def per_second(self) -> float:
        """Sequences per second once each reader has a first batch."""
        return float(self.marks.size - self.marks.shape[1]) / (self.seconds - self.first_seconds)


def together(began: float, reads: Sequence[Read]) -> Pass:
    """Join what the readers had; a step counts when all have it."""
    steps = min(len(read.marks) for read in reads)
    return Pass(
        max(read.first for read in reads) - began,
        max(read.last for read in reads) - began,
        np.concatenate([read.marks[:steps] for read in reads], axis=1),
    )
