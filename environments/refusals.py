"""What is wrong with an environment, setting by setting, and how a validator hands it to the person who wrote it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

REFUSED = "refused"
MISFITS = "misfits"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One setting that cannot be used. Where nothing is ``stated``, ``value`` says what it is: missing, unknown."""

    field: str
    value: str
    expected: str
    remedy: str
    stated: bool = True

    def __str__(self) -> str:
        is_or_equals = "=" if self.stated else "is"
        return f"{self.field} {is_or_equals} {self.value}\n    expected: {self.expected}\n    to do:    {self.remedy}"


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """A setting that does not go with another; ``field`` is its path in the file. ``value`` None: it is missing."""

    field: str
    value: object
    expected: str
    remedy: str


def refused(expected: str, remedy: str) -> PydanticCustomError:
    """What a validator raises of a single field, where the field's description is not the remedy."""
    return PydanticCustomError(REFUSED, "{expected}", {"expected": expected, "remedy": remedy})


def misfits(found: Sequence[Misfit]) -> PydanticCustomError:
    """What a validator raises of several fields: all that does not go together, at once."""
    return PydanticCustomError(MISFITS, "settings that go together", {MISFITS: tuple(found)})
