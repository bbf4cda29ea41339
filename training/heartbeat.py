"""A sign of life: without one, a run whose driver was lost says "running" for ever, as one that goes on does."""

import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from training.results import RESULT, RunFolder

# Nothing else is written for hours while data is tokenised or a model is loaded, and what watches the folder may take
# a run that writes nothing for one that is lost.
SECONDS_BETWEEN_SIGNS = 120.0


class Heartbeat:
    """Keeps result.json at `running` and `seen`, the time.time() at which it was written, until the run's end.

    Use it as a context manager around the run: signs come every `seconds`, from a thread of its own.
    """

    def __init__(self, folder: RunFolder, running: Mapping[str, Any], seconds: float = SECONDS_BETWEEN_SIGNS) -> None:
        self._folder = folder
        self._running = dict(running)
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._failed_before = False

    def __enter__(self) -> "Heartbeat":
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End it: after this, nothing is written any more."""
        self._end()

    def sign(self) -> None:
        """Write one sign. Raises OSError."""
        self._folder.write_result(self._running | {"seen": time.time()})

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the last result, from any thread and also inside the block. Raises OSError."""
        # Here too: the deadline comes inside the block, and a second signal may have ended the wait at its end.
        self._end()
        self._folder.write_result(self._running | dict(result))

    def _end(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()  # a sign that is being written would replace what is written next

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self.sign()
            except Exception as error:  # whatever it is: a thread that ends here would end in silence
                if not self._failed_before:
                    print(f"{RESULT} in {self._folder.uri} cannot be written: {error}", file=sys.stderr, flush=True)
                self._failed_before = True
