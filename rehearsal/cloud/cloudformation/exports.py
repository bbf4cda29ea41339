"""Exports: values of one stack that others import by name."""

import threading
from collections.abc import Mapping

from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.errors import RefusedError


class Exports:
    """The exports of the stacks that exist; ``lock`` is the stacks' own."""

    def __init__(self, stacks: Mapping[str, Stack], lock: threading.RLock) -> None:
        self._stacks = stacks
        self._lock = lock

    def find(self, name: str) -> str:
        """Return an export's value; raises RefusedError where there is none of that name."""
        with self._lock:
            for stack in self._stacks.values():
                if name in stack.exports:
                    return stack.exports[name]
        raise RefusedError(f"No export named {name} found.")

    def importers(self, name: str) -> list[str]:
        """Return the names of the stacks that use an export."""
        with self._lock:
            return sorted(stack.name for stack in self._stacks.values() if name in stack.imports)

    def check(self, stack: Stack, new: Mapping[str, str]) -> None:
        """Raise RefusedError where a stack's new exports are taken, or change one that is in use."""
        with self._lock:
            for name, value in stack.exports.items():
                if new.get(name) != value and (users := self.importers(name)):
                    verb = "updated" if name in new else "deleted"
                    raise RefusedError(f"Export {name} cannot be {verb} as it is in use by {', '.join(users)}")
            for other in self._stacks.values():
                if other is not stack and (taken := sorted(new.keys() & other.exports.keys())):
                    raise RefusedError(f"Export with name {taken[0]} is already exported by stack {other.name}")
