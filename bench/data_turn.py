"""One turn of one way: a Ray of its own, two readers, and what they take to begin, to read on and to go on."""

import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError

from bench.data_memory import Peak, watched
from bench.data_reader import Marks, Pass, RemoteReader, together
from bench.data_sources import OURS, TEXT, Source, TokenSource, configure, stream_sources, tokenised
from bench.data_task import Task
from bench.errors import BenchError

ROOT = Path(__file__).resolve().parent.parent
READERS, MORE_READERS = 2, 4


@dataclass(frozen=True)
class Continued:
    """What the readers have after an interruption, beside the run that had none.

    `same`: each global batch holds the same sequences. `again`: the share of them that the run had before it.
    """

    same: bool
    again: float


@dataclass(frozen=True)
class Turn:
    """What was found: seconds to the first batch with nothing kept, after a restart, and after one at half of a pass.

    Besides: seconds of a whole pass from its restart, its sequences and how many came in a second after the first
    batch; the most bytes; and what follows a restart at half, with as many readers as before, and with half of them.
    """

    first_seconds: float
    again_seconds: float
    half_seconds: float
    pass_seconds: float
    per_second: float
    sequences: int
    peak: Peak
    same_readers: Continued
    fewer_readers: Continued


def take_turn(way: str, task: Task) -> Turn:
    """Measure a way. Raises BenchError."""
    try:
        with readers() as actors, watched(ray.get([actor.pid.remote() for actor in actors])) as peak:
            first = read(way, task, actors, READERS, fresh=True)
            again = read(way, task, actors, READERS)
            half = len(again.marks) // 2
            resumed = read(way, task, actors, READERS, start=half)
            found = Peak(peak.reader, peak.beside)  # without the four readers
            more = read(way, task, actors, MORE_READERS)
    except RayError as error:
        remedy = "mend what it printed; if a process was killed, free memory"
        raise BenchError(way, f"failed:\n{str(error)[-3000:]}", "a pass over all documents", remedy) from error
    return Turn(
        first.first_seconds,
        again.first_seconds,
        resumed.first_seconds,
        again.seconds,
        again.per_second,
        again.marks.size,
        found,
        continued(again.marks, half, resumed.marks),
        continued(more.marks, half, resumed.marks),
    )


@contextmanager
def readers() -> Iterator[Sequence[Any]]:
    """Two readers on a Ray that nobody else uses, and that ends with the block."""
    variables = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    ray.init(
        address="local",
        num_cpus=READERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        runtime_env={"env_vars": variables},
    )
    configure()
    for handler in logging.getLogger("ray.data").handlers:
        handler.setLevel(logging.ERROR)  # it tells of each run on the console
    try:
        yield [RemoteReader.remote() for _ in range(READERS)]
    finally:
        ray.shutdown()


def read(way: str, task: Task, actors: Sequence[Any], count: int, start: int = 0, fresh: bool = False) -> Pass:
    """Let `count` readers read a pass from global batch `start`; with `fresh`, what was kept from before is deleted.

    Four readers are two in each process.
    """
    if fresh:
        for folder in (task.arguments().results, task.sequences):
            shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    sources = open_sources(way, task, actors, count)
    waiting = [actors[rank % len(actors)].read.remote(source, start) for rank, source in enumerate(sources)]
    return together(began, ray.get(waiting))


def open_sources(way: str, task: Task, actors: Sequence[Any], count: int) -> Sequence[Source]:
    """Return a source for each reader; what a way keeps is written, if it is not there."""
    if way == OURS:
        tokens = ray.get(actors[0].prepare.remote(task))
        return [TokenSource(task, tokens, rank, count) for rank in range(count)]
    if way != TEXT and not task.sequences.exists():
        tokenised(task).write_parquet(str(task.sequences))
    return stream_sources(way, task, count)


def continued(undisturbed: Marks, half: int, resumed: Marks) -> Continued:
    """Compare the batches of `resumed` with the undisturbed run's from batch `half`; the order in one is no matter."""
    same = np.array_equal(np.sort(undisturbed[half:], axis=1), np.sort(resumed, axis=1))
    return Continued(same, float(np.isin(resumed, undisturbed[:half]).mean()))
