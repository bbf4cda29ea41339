"""What a change does to the stacks, in the words of `cdk diff`."""

import re
import sys
from dataclasses import dataclass, field
from typing import Literal

RESOURCE = re.compile(
    r"^\[(?P<mark>.)\] \S+::\S+ .+?(?: (?P<impact>replace|may be replaced|destroy|orphan|import))?(?: \(OR .*\))?$"
)


# What sets a stack apart; empty for one that is there before and after, with differences.
Note = Literal["", "new", "removed", "unchanged", "failed"]


@dataclass(frozen=True)
class StackDiff:
    """What changes in one stack: ``text`` is the CLI's."""

    environment: str
    stack: str
    text: str
    note: Note = ""

    def count(self) -> tuple[int, int, int]:
        """Resources added, changed in place, and replaced or destroyed (for certain or possibly)."""
        added = changed = destroyed = 0
        for line in self.text.splitlines():
            if found := RESOURCE.match(line):
                if found["impact"] not in (None, "import"):
                    destroyed += 1
                elif found["mark"] == "+":
                    added += 1
                else:
                    changed += 1
        return added, changed, destroyed


@dataclass
class Report:
    """The stacks' diffs, and what the reader should know about how they were made."""

    basis: str
    notes: list[str] = field(default_factory=list)
    diffs: list[StackDiff] = field(default_factory=list)

    def add(self, diff: StackDiff) -> None:
        """Adds a stack, uncut diff to the log included."""
        print(f"== {diff.environment} / {diff.stack}\n{diff.text}\n", file=sys.stderr, flush=True)
        self.diffs.append(diff)

    @property
    def failed(self) -> bool:
        """Whether a stack of the working tree could not be diffed."""
        return any(diff.note == "failed" for diff in self.diffs)
