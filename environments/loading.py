"""Reads an environment's TOML file, and says what is wrong with it field by field."""

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from environments.settings import Settings

FOLDER = Path(__file__).resolve().parent


class SettingsError(Exception):
    """An environment that cannot be used; the message is meant for the user."""


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
            f"environment = {name!r}\n"
            f"    expected: one of {', '.join(environment_names(folder))}\n"
            f"    to do:    pass -c environment=NAME (with make: ENV=NAME), or copy environments/dev.toml to "
            f"environments/{name}.toml"
        )
    path = folder / f"{name}.toml"
    try:
        document = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"environments/{path.name} is not TOML: {error}\n    to do:    mend that line") from None
    return parse({"name": name, **document}, source=f"environments/{path.name}")


def parse(document: Mapping[str, Any], *, source: str) -> Settings:
    """Validates a parsed document; ``source`` names it in errors.

    Raises:
        SettingsError: naming each field that is wrong, its value, what was expected and what to do.
    """
    try:
        # JSON's strict mode takes an array for a tuple, which Python's does not.
        return Settings.model_validate_json(json.dumps(document, default=str))
    except ValidationError as error:
        problems = error.errors(include_url=False)
        header = f"{source} is not valid: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise SettingsError("\n".join([header, *map(_explain, problems)])) from None


def _explain(problem: ErrorDetails) -> str:
    location = [part for part in problem["loc"] if part != "[key]"]
    field = ".".join(map(str, location)) or "settings"
    expected = (
        problem["msg"]
        .removeprefix("Value error, ")
        .removeprefix("Input should be ")
        .replace("String should match", "text that matches")
    )
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(location)
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        expected = f"one of {', '.join(known)}"
        remedy = f"write {close[0]} instead" if close else "remove it: nothing reads it"
        return _lines(f"{field} is unknown", expected, remedy)
    if problem["type"] == "missing":
        return _lines(f"{field} is missing", "a value", _description(location))
    if problem["type"] == "value_error" and _model_at(location) is not None:
        # A rule over several fields: its text names them.
        return _lines(f"{field} does not fit together", expected, "change one of them")
    return _lines(f"{field} = {json.dumps(problem['input'])}", expected, _description(location))


def _lines(what: str, expected: str, remedy: str) -> str:
    return f"\n  {what}\n    expected: {expected}\n    to do:    {remedy}"


def _model_at(location: Sequence[Any]) -> type[BaseModel] | None:
    model: type[BaseModel] = Settings
    for part in location:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return None
        model = annotation
    return model


def _keys_beside(location: Sequence[Any]) -> list[str]:
    model = _model_at(location[:-1])
    return sorted(set(model.model_fields) - {"name"}) if model else []


def _description(location: Sequence[Any]) -> str:
    # An error inside a list or a table has the item's index or key last: the field that holds it is described.
    for end in range(len(location), 0, -1):
        model = _model_at(location[: end - 1])
        field = model.model_fields.get(str(location[end - 1])) if model else None
        if field is not None:
            return field.description or f"write the table [{'.'.join(map(str, location[:end]))}]"
    return "see environments/dev.toml"
