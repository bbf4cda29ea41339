"""The processes of functions, so that none outlives the emulation."""

import contextlib
import os
import signal
import subprocess
import threading


class Running:
    """The processes that run now, so that they can be ended with the emulation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._closed = False

    def add(self, process: subprocess.Popen[str]) -> None:
        """Remember a process; ends it at once where everything is ending."""
        with self._lock:
            self._processes.add(process)
            if self._closed:
                end(process)

    def remove(self, process: subprocess.Popen[str]) -> None:
        """Forget a process that has ended."""
        with self._lock:
            self._processes.discard(process)

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a process and those that it started, which are in a group of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
