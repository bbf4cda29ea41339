"""What every table has in common, and the types that several of them use."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from environments.refusals import Misfit, misfits

Version = Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]


class Section(BaseModel):
    """A table of the file: an unknown key is an error, and what does not go together is told all at once."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    def _misfits(self) -> Iterator[Misfit]:
        yield from ()

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if found := list(self._misfits()):
            raise misfits(found)
        return self
