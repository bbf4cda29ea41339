"""Every page of an answer."""

from collections.abc import Callable, Iterator
from typing import Any


def items(operation: Callable[..., dict[str, Any]], key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
    """Yield the items under ``key`` of every page of an operation's answer."""
    page = operation(**parameters)
    yield from page[key]
    while page.get("NextToken"):
        page = operation(**parameters, NextToken=page["NextToken"])
        yield from page[key]
