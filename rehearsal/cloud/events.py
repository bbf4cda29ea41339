"""The log of what happened: one JSON object a line."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class EventLog:
    """Appends events to a file and keeps them in memory; safe to use from several threads."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, **event: Any) -> None:
        """Add an event; the time is added here. Values that are None are left out."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds")}
        line.update((key, value) for key, value in event.items() if value is not None)
        with self._lock:
            self._events.append(line)
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps(line, default=str) + "\n")

    def read(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the events whose fields have the wanted values, oldest first."""
        with self._lock:
            return [event for event in self._events if all(event.get(key) == value for key, value in wanted.items())]
