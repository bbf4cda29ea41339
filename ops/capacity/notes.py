"""The probe's log lines, which its function prints for CloudWatch: a terminal shows only the warnings, at the end."""

import contextlib
import io
import json
import threading
from collections.abc import Iterator


class Notes(io.TextIOBase):
    """Takes what is printed, from any thread; ``warnings`` holds each different one once."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._printed = ""

    def write(self, text: str) -> int:
        """Keep the text."""
        with self._lock:
            self._printed += text
        return len(text)

    @property
    def warnings(self) -> list[str]:
        """What the probe warned of, with the first reason of each kind."""
        found: dict[str, str] = {}
        for line in self._printed.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("level") == "warning":
                why = entry.get("error") or entry.get("reason")
                found.setdefault(entry["message"], entry["message"] + (f" ({why})" if why else ""))
        return list(found.values())


@contextlib.contextmanager
def kept(notes: Notes | None = None) -> Iterator[Notes]:
    """Keep from the terminal what is printed meanwhile, in ``notes`` or new ones.

    A console made before goes on writing to the terminal. A question must be asked outside: its text is printed.
    """
    notes = Notes() if notes is None else notes
    with contextlib.redirect_stdout(notes):
        yield notes
