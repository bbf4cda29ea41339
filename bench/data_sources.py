"""The ways to read the same documents as shuffled batches of ids and targets: our token file, and Ray Data's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import ray.data
import torch
from ray.data import DataContext, DataIterator, Dataset, FileShuffleConfig

from bench.data_pack import end_of_text, tokenise
from bench.data_task import BATCH, SEED, SEQUENCE_LENGTH, Task
from training.data import Samples
from training.loss import IGNORED
from training.tokens import TokenFile, fetch

OURS = "token file"
TEXT, PARQUET, BUFFER = "Ray Data, text", "Ray Data, parquet", "Ray Data, buffer"
WAYS = (OURS, TEXT, PARQUET, BUFFER)
# Sequences from which the local shuffle draws, in each reader.
BUFFER_SEQUENCES = 500
PREFETCHED_BATCHES = 4

Batch = tuple[torch.Tensor, torch.Tensor]


class Source(Protocol):
    """What one of several readers reads from; picklable, for it is made elsewhere."""

    def batches(self, start: int) -> Iterator[Batch]:
        """Yield this reader's share of each global batch from number `start`: ids and targets, to the pass's end."""
        ...


@dataclass(frozen=True)
class TokenSource:
    """Our way: as training/setup.py opens the file, and training/loop.py reads from it."""

    task: Task
    tokens: TokenFile
    rank: int
    readers: int

    def batches(self, start: int) -> Iterator[Batch]:
        """See Source: the first one is computed, nothing before it is read."""
        args = self.task.arguments()
        samples = Samples(fetch(args, self.tokens), SEQUENCE_LENGTH, SEED, end=self.tokens.end)
        share = BATCH // self.readers
        for step in range(start, (self.tokens.count - 1) // SEQUENCE_LENGTH // BATCH):
            yield samples.batch(step * BATCH + self.rank * share, share)


@dataclass(frozen=True)
class StreamSource:
    """Ray Data's: a shard of a stream. It has no position, so what lies before `start` is read and thrown away."""

    shard: DataIterator
    readers: int
    end: int
    buffer: int | None

    def batches(self, start: int) -> Iterator[Batch]:
        """See Source."""
        stream: Any = self.shard.iter_torch_batches(
            batch_size=BATCH // self.readers,
            dtypes=torch.int64,
            drop_last=True,
            prefetch_batches=PREFETCHED_BATCHES,
            local_shuffle_buffer_size=self.buffer,
            local_shuffle_seed=None if self.buffer is None else SEED,
        )
        for step, batch in enumerate(stream):
            if step >= start:
                ids, targets = batch["ids"][:, :-1], batch["ids"][:, 1:]
                yield ids, targets.masked_fill(ids == self.end, IGNORED)


def configure() -> None:
    """Set what all of Ray Data's ways share, before the first is opened."""
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # What the documentation asks for, beside seeds, when a run is to be repeated.
    context.execution_options.preserve_order = True


def stream_sources(way: str, task: Task, readers: int) -> list[StreamSource]:
    """Return Ray Data's shards of one pass over the data, one for each reader; nothing runs before they are read."""
    buffer = None
    if way == TEXT:
        rows = tokenised(task).random_shuffle(seed=SEED)
    elif way == PARQUET:
        rows = ray.data.read_parquet(str(task.sequences)).random_shuffle(seed=SEED)
    else:
        rows = ray.data.read_parquet(str(task.sequences), shuffle=FileShuffleConfig(seed=SEED))
        buffer = BUFFER_SEQUENCES
    end = end_of_text(str(task.tokenizer))
    return [StreamSource(shard, readers, end, buffer) for shard in rows.streaming_split(readers, equal=True)]


def tokenised(task: Task) -> Dataset:
    """Return the documents as rows of SEQUENCE_LENGTH + 1 ids, like those of Samples; not yet run."""
    # A whole block at a time: what does not fill its last sequence is dropped, and fewer blocks drop less.
    arguments = {"tokenizer": str(task.tokenizer), "length": SEQUENCE_LENGTH}
    function: Any = tokenise  # Ray's type has no further arguments
    return ray.data.read_json(str(task.documents)).map_batches(function, batch_size=None, fn_kwargs=arguments)
