"""The processes of a run: which one this is, and doing something once for all of them."""

import datetime
import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch.distributed as dist

T = TypeVar("T")

# How the other ranks' error begins when one has failed: the driver looks past it for the cause.
FOLLOWER = "rank 0 failed"
# Downloading a model and tokenising a corpus happen while the others wait.
LONGEST_WAIT = datetime.timedelta(hours=6)


class FollowerError(RuntimeError):
    """What the other ranks raise when rank 0 has failed."""


class Ranks:
    """This process among all. Its collectives, which move objects, have a gloo group of their own."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
        self._group = dist.new_group(backend="gloo", timeout=LONGEST_WAIT)

    def on_rank0(self, make: Callable[[], T]) -> T | None:
        """Call `make` on rank 0 and return its value there, None on the other ranks.

        When it raises, rank 0 raises that error and the others a FollowerError: nobody is left waiting in a collective.
        """
        value: T | None = None
        failure: Exception | None = None
        if self.rank == 0:
            try:
                value = make()
            except Exception as error:
                failure = error
        message = [None if failure is None else str(failure)]
        dist.broadcast_object_list(message, src=0, group=self._group)
        if failure is not None:
            raise failure
        if message[0] is not None:
            raise FollowerError(f"{FOLLOWER}: {message[0]}")
        return value

    def from_rank0(self, make: Callable[[], T]) -> T:
        """Call `make` on rank 0 and return its (picklable) value on every rank. Errors as in `on_rank0`."""
        box: list[Any] = [self.on_rank0(make)]
        dist.broadcast_object_list(box, src=0, group=self._group)
        value: T = box[0]
        return value

    def once_per_node(self, make: Callable[[], T]) -> T:
        """Call `make` on the first rank of each node, then on the others, which find what it left on their disk.

        Raises the error of the rank where it failed, and there alone; the others raise a FollowerError.
        """
        value, failure = self._try(make, self.local_rank == 0)
        self.agree(failure)
        if self.local_rank != 0:
            value, failure = self._try(make, True)
        self.agree(failure)
        assert value is not None
        return value

    def gather(self, value: T) -> list[T]:
        """Return every rank's value, by rank."""
        values: list[Any] = [None] * self.world_size
        dist.all_gather_object(values, value, group=self._group)
        return values

    def _try(self, make: Callable[[], T], mine: bool) -> tuple[T | None, Exception | None]:
        if not mine:
            return None, None
        try:
            return make(), None
        except Exception as error:
            return None, error

    def agree(self, failure: Exception | None) -> None:
        """Raise this rank's `failure`, and a FollowerError on the others when any rank has one."""
        failures = self.gather(None if failure is None else f"rank {self.rank}: {failure}")
        if failure is not None:
            raise failure
        if first := next((text for text in failures if text is not None), None):
            raise FollowerError(f"{FOLLOWER}: {first}")
