"""What ends a command: an error that says what to do, and the exit code that says what kind it is."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script may rely on."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_CAPACITY = 3
    NO_ACCESS = 4
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong options or settings, 3 no zone can take the nodes (capacity or quota), "
    "4 credentials or permissions, 130 interrupted."
)


class OpsError(Exception):
    """Something that a person has to change; the text names field, value, what was expected and what to do."""

    def __init__(self, what: str, expected: str, remedy: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(f"{what}\n    expected: {expected}\n    to do:    {remedy}")
        self.code = code
