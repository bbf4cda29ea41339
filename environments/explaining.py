"""Turns what pydantic found wrong into refusals: field, value, what was expected, what to do."""

import difflib
import json
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from environments.refusals import MISFITS, REFUSED, Misfit, Refusal
from environments.settings import Settings


def explain(problem: ErrorDetails) -> Iterator[Refusal]:
    """The refusals that one of pydantic's errors stands for: one, or one for each setting that fits no other."""
    location = [str(part) for part in problem["loc"] if part != "[key]"]
    if "[key]" in problem["loc"]:
        yield _key(problem, location)
    elif problem["type"] == MISFITS:
        yield from map(_misfit, problem["ctx"][MISFITS])
    elif location == ["name"]:
        yield _file_name(problem["input"])
    else:
        yield _field(problem, location)


def _field(problem: ErrorDetails, location: Sequence[str]) -> Refusal:
    field, remedy = ".".join(location), description(location)
    if problem["type"] == "extra_forbidden":
        known = _keys_beside(location)
        close = difflib.get_close_matches(location[-1], known, n=1)
        return Refusal(
            field=field,
            value="unknown",
            stated=False,
            expected=f"one of {', '.join(known)}",
            remedy=f"write {close[0]} instead" if close else "remove it: nothing reads it",
        )
    if problem["type"] == "missing":
        return Refusal(field=field, value="missing", stated=False, expected="a value", remedy=remedy)
    if problem["type"] == REFUSED:
        remedy = problem["ctx"]["remedy"]
    return Refusal(field=field, value=json.dumps(problem["input"]), expected=_expected(problem), remedy=remedy)


def _key(problem: ErrorDetails, location: Sequence[str]) -> Refusal:
    return Refusal(
        field=".".join(location),
        value="no such name",
        stated=False,
        expected=f"a name that is {_expected(problem)}",
        remedy=f"remove it. {description(location)}",
    )


def _file_name(name: str) -> Refusal:
    better = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:22]
    return Refusal(
        field="the file's name",
        value=f"{name}.toml",
        expected="up to 22 lower-case letters, digits and hyphens before .toml: it is part of every stack's name",
        remedy=f"rename the file, such as to {better or 'dev'}.toml",
    )


def _misfit(misfit: Misfit) -> Refusal:
    return Refusal(
        field=misfit.field,
        value="missing" if misfit.value is None else json.dumps(misfit.value),
        stated=misfit.value is not None,
        expected=misfit.expected,
        remedy=misfit.remedy,
    )


def _expected(problem: ErrorDetails) -> str:
    if problem["type"] == "string_type":
        return "text, in quotes"
    return (
        problem["msg"]
        .removeprefix("Value error, ")
        .removeprefix("Input should be ")
        .replace("String should match", "text that matches")
    )


def _model_at(location: Sequence[str]) -> type[BaseModel] | None:
    model: type[BaseModel] = Settings
    for part in location:
        field = model.model_fields.get(part)
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return None
        model = annotation
    return model


def _keys_beside(location: Sequence[str]) -> list[str]:
    model = _model_at(location[:-1])
    return sorted(set(model.model_fields) - {"name"}) if model else []


def description(location: Sequence[str]) -> str:
    """What to write at ``location``, a path of keys; of an item in a list or table, what the whole holds."""
    for end in range(len(location), 0, -1):
        model = _model_at(location[: end - 1])
        field = model.model_fields.get(location[end - 1]) if model else None
        if field is not None:
            return field.description or _table(location[:end])
    return "see environments/dev.toml"


def _table(location: Sequence[str]) -> str:
    model = _model_at(location)
    keys = [name for name, field in model.model_fields.items() if field.is_required()] if model else []
    return f"write the table [{'.'.join(location)}] with {', '.join(keys)}, as in environments/dev.toml"
