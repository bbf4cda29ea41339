"""The kinds of failure of the Gpu stack, and the exit code of each."""

from enum import Enum

from ops.errors import ExitCode


class Kind(Enum):
    """Who refused, in words."""

    LAUNCH = "EC2 had no room for the nodes in the zone that was chosen"
    NO_ZONE = "the capacity probe found no zone that can take the nodes"
    DENIED = "the capacity probe may not do what it has to"
    SETTINGS = "the capacity probe refuses what the settings say"
    PROBE = "the capacity probe could not finish"
    OTHER = "something else"

    @property
    def code(self) -> ExitCode:
        """What the command ends with."""
        return _CODES.get(self, ExitCode.FAILED)


_CODES = {
    Kind.LAUNCH: ExitCode.NO_CAPACITY,
    Kind.NO_ZONE: ExitCode.NO_CAPACITY,
    Kind.DENIED: ExitCode.NO_ACCESS,
    Kind.SETTINGS: ExitCode.USAGE,
}
