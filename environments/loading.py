"""Reads an environment's TOML file, and says what is wrong with it field by field."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from environments.defaults import with_defaults
from environments.explaining import explain
from environments.refusals import Refusal
from environments.settings import Settings

FOLDER = Path(__file__).resolve().parent


class SettingsError(Exception):
    """An environment that cannot be used; the message is meant for the user, and ``refusals`` is what it lists."""

    def __init__(self, refusals: Sequence[Refusal], *, source: str = "") -> None:
        self.refusals = tuple(refusals)
        count = len(self.refusals)
        header = [f"{source} is not valid: {count} problem{'s' if count > 1 else ''}"] if source else []
        listed = [f"\n  {each}" if source else str(each) for each in self.refusals]
        super().__init__("\n".join([*header, *listed]))


def environment_names(folder: Path = FOLDER) -> list[str]:
    """The environments there are, by name."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name: str, folder: Path = FOLDER) -> Settings:
    """The settings in ``folder/name.toml``.

    Raises:
        SettingsError: there is no such environment, or its file is not valid.
    """
    if name not in environment_names(folder):
        raise SettingsError(
            [
                Refusal(
                    field="environment",
                    value=repr(name),
                    expected=f"one of {', '.join(environment_names(folder))}",
                    remedy="pass -c environment=NAME (with make: ENV=NAME), or copy environments/dev.toml to "
                    f"environments/{name}.toml",
                )
            ]
        )
    path = folder / f"{name}.toml"
    try:
        document = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            [
                Refusal(
                    field=f"environments/{path.name}",
                    value=f"not TOML: {error}",
                    stated=False,
                    expected="a file like environments/dev.toml",
                    remedy="mend that line",
                )
            ]
        ) from None
    return parse({"name": name, **document}, source=f"environments/{path.name}")


def parse(document: Mapping[str, Any], *, source: str) -> Settings:
    """Validates a parsed document; ``source`` names it in errors.

    Raises:
        SettingsError: naming each field that is wrong, its value, what was expected and what to do.
    """
    try:
        # JSON's strict mode takes an array for a tuple, which Python's does not.
        return Settings.model_validate_json(json.dumps(with_defaults(document), default=str))
    except ValidationError as error:
        found = [refusal for problem in error.errors(include_url=False) for refusal in explain(problem)]
        raise SettingsError(found, source=source) from None
