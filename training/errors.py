"""The errors that end a run for good: starting it again would end it in the same way."""

from typing import Any


class InputError(ValueError):
    """A value that a run cannot be started with.

    `field` is the command line flag without its dashes, `value` what was given, `expected` what is accepted, and
    `remedy` what to do next.
    """

    def __init__(self, field: str, value: Any, expected: str, remedy: str) -> None:
        # All four are handed to Exception, so that pickling (Ray sends errors between processes) restores them.
        super().__init__(field, value, expected, remedy)
        self.field = field
        self.value = value
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        """Give the message on one line."""
        return f"--{self.field} {self.value}: expected {self.expected}. {self.remedy}"


class TrainingError(RuntimeError):
    """Training that cannot go on, such as one that has diverged; the message says at which step, and what to do."""
