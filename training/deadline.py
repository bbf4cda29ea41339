"""Ends a run that takes too long: nothing outside stops a Ray job that hangs, and its GPUs would be held for ever."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from training.exit_codes import DEADLINE


@contextmanager
def deadline(seconds: int | None, on_expiry: Callable[[str], None]) -> Iterator[None]:
    """Unless the block ends within `seconds`, call `on_expiry` with the reason and end this process.

    The driver is the one to end: Ray then ends the workers of its job. None sets no deadline.
    """
    if seconds is None:
        yield
        return

    def expire() -> None:
        try:
            on_expiry(f"still training after {seconds} s, its --deadline-seconds: fewer --steps, or a longer deadline")
        finally:
            os._exit(DEADLINE)  # the main thread may be in a call that no exception reaches

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
