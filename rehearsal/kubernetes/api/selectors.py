"""Label selectors, as text of a query and as `matchLabels`/`matchExpressions`, and field selectors."""

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.kubernetes.api.errors import bad_request
from rehearsal.kubernetes.api.objects import Object

_IN = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")
_COMMA = re.compile(r",(?![^(]*\))")


def requirements(text: str) -> list[Object]:
    """Return a label selector of a query as match expressions."""
    found: list[Object] = []
    for term in filter(None, (part.strip() for part in _COMMA.split(text))):
        if match := _IN.match(term):
            operator = {"in": "In", "notin": "NotIn"}[match[2]]
            found.append({"key": match[1], "operator": operator, "values": [v.strip() for v in match[3].split(",")]})
        elif "!=" in term:
            key, value = term.split("!=", 1)
            found.append({"key": key.strip(), "operator": "NotIn", "values": [value.strip()]})
        elif "=" in term:
            key, value = term.split("=", 1)
            found.append({"key": key.strip(), "operator": "In", "values": [value.removeprefix("=").strip()]})
        elif term.startswith("!"):
            found.append({"key": term[1:].strip(), "operator": "DoesNotExist"})
        else:
            found.append({"key": term, "operator": "Exists"})
    return found


def satisfies(labels: Mapping[str, str], expressions: list[Object]) -> bool:
    """Whether labels satisfy all match expressions."""
    return all(_holds(labels, expression) for expression in expressions)


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector selects labels; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    equal = all(labels.get(key) == value for key, value in wanted.items())
    return equal and satisfies(labels, selector.get("matchExpressions") or [])


def field_selector(text: str) -> list[tuple[str, bool, str]]:
    """Return a field selector as (path, whether it must be equal, value)."""
    found = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        match = re.match(r"^([^=!]+)(==|!=|=)(.*)$", term)
        if not match:
            raise bad_request(f"invalid field selector: {text}")
        found.append((match[1], match[2] != "!=", match[3]))
    return found


def fields_match(obj: Object, terms: list[tuple[str, bool, str]]) -> bool:
    """Whether an object has the fields that a field selector asks for; an absent one counts as empty."""
    for path, equal, value in terms:
        found: Any = obj
        for part in path.split("."):
            found = (found or {}).get(part)
        if ((found or "") == value) != equal:
            return False
    return True


def _holds(labels: Mapping[str, str], expression: Object) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case "Lt":
            return value is not None and int(value) < int(values[0])
    return False
