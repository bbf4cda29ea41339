"""Checks of one value each; an error names it, what it is and what was expected."""

import re
from collections.abc import Mapping
from typing import Any

from .errors import ProbeError

_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


def wrong(name: str, value: object, expected: str) -> ProbeError:
    """Return the error for a value."""
    return ProbeError("property", f"{name} is {value!r}: expected {expected}.")


def matching(name: str, value: object, pattern: re.Pattern[str], expected: str) -> str:
    """Return a string that matches as a whole; raises ProbeError."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise wrong(name, value, expected)
    return value


def number(raw: Mapping[str, Any], name: str) -> int:
    """Return a whole number, which CloudFormation sends as a string; raises ProbeError."""
    return int(matching(name, raw[name], _WHOLE_NUMBER, "a whole number from 1 to 999999, as a string"))


def mapping(raw: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return a map of strings that is not empty; raises ProbeError."""
    value = raw[name]
    if not isinstance(value, dict) or not value or not all(isinstance(v, str) for v in value.values()):
        raise wrong(name, value, "a map of strings with at least one entry")
    return value


def strings(raw: Mapping[str, Any], name: str, example: str) -> list[Any]:
    """Return a list that is not empty; raises ProbeError."""
    value = raw[name]
    if not isinstance(value, list) or not value:
        raise wrong(name, value, f"a list of {example}")
    return value
