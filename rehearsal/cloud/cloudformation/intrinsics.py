"""Intrinsic functions. One that is not here fails by name."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rehearsal.cloud.errors import RefusedError

NO_VALUE = object()
_PLACEHOLDER = re.compile(r"\$\{([^!][^}]*)\}")


class Scope(Protocol):
    """Where names lead to while a template is resolved."""

    def ref(self, name: str) -> Any:
        """Return what Ref gives."""

    def attribute(self, name: str, attribute: str) -> Any:
        """Return what Fn::GetAtt gives."""

    def imported(self, name: str) -> Any:
        """Return the value of another stack's export."""

    def condition(self, name: str) -> bool:
        """Return a condition of the template."""

    def mapping(self, name: str, first: str, second: str) -> Any:
        """Return a value of the template's Mappings."""

    def zones(self, region: str) -> list[str]:
        """Return the names of a region's zones."""


def resolve(value: Any, scope: Scope) -> Any:
    """Return ``value`` with every intrinsic function replaced by its result."""
    if isinstance(value, list):
        return [item for item in (resolve(item, scope) for item in value) if item is not NO_VALUE]
    if isinstance(value, str) and "{{resolve:" in value:
        raise RefusedError(f"Dynamic references are not emulated: {value[:200]}")
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, argument) = next(iter(value.items()))
        if name == "Ref":
            return NO_VALUE if argument == "AWS::NoValue" else scope.ref(argument)
        if name == "Condition" and isinstance(argument, str):
            return scope.condition(argument)
        if name.startswith("Fn::"):
            if name not in _FUNCTIONS:
                raise RefusedError(f"{name} is not emulated")
            return _FUNCTIONS[name](argument, scope)
    resolved = {key: resolve(item, scope) for key, item in value.items()}
    return {key: item for key, item in resolved.items() if item is not NO_VALUE}


def text(value: Any) -> str:
    """Return a scalar as CloudFormation writes it into text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)) or value is NO_VALUE:
        raise RefusedError(f"a text was expected, not {value!r}")
    return str(value)


def _get_att(argument: Any, scope: Scope) -> Any:
    name, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
    return scope.attribute(name, resolve(attribute, scope))


def _sub(argument: Any, scope: Scope) -> str:
    template, given = (argument, {}) if isinstance(argument, str) else argument
    values = {key: resolve(value, scope) for key, value in given.items()}

    def replace(match: re.Match[str]) -> str:
        name = match.group(1).strip()
        if name in values:
            return text(values[name])
        if "." in name:
            return text(scope.attribute(*name.split(".", 1)))
        return text(scope.ref(name))

    return _PLACEHOLDER.sub(replace, template).replace("${!", "${")


def _join(argument: Any, scope: Scope) -> str:
    separator, values = argument
    return str(separator).join(text(value) for value in resolve(values, scope))


def _select(argument: Any, scope: Scope) -> Any:
    index, values = resolve(argument, scope)
    if not 0 <= int(index) < len(values):
        raise RefusedError(f"Fn::Select cannot select nonexistent value at index {index}")
    return values[int(index)]


def _split(argument: Any, scope: Scope) -> list[str]:
    separator, value = resolve(argument, scope)
    return text(value).split(separator)


def _if(argument: Any, scope: Scope) -> Any:
    condition, then, otherwise = argument
    return resolve(then if scope.condition(condition) else otherwise, scope)


def _equals(argument: Any, scope: Scope) -> bool:
    first, second = resolve(argument, scope)
    return text(first) == text(second)


def _find_in_map(argument: Any, scope: Scope) -> Any:
    return scope.mapping(*resolve(argument, scope))


def _base64(argument: Any, scope: Scope) -> str:
    return base64.b64encode(text(resolve(argument, scope)).encode()).decode()


def _contains(argument: Any, scope: Scope) -> bool:
    values, wanted = resolve(argument, scope)
    return wanted in values


_FUNCTIONS: Mapping[str, Callable[[Any, Scope], Any]] = {
    "Fn::And": lambda argument, scope: all(resolve(item, scope) for item in argument),
    "Fn::Base64": _base64,
    "Fn::Contains": _contains,
    "Fn::Equals": _equals,
    "Fn::FindInMap": _find_in_map,
    "Fn::GetAZs": lambda argument, scope: scope.zones(resolve(argument, scope)),
    "Fn::GetAtt": _get_att,
    "Fn::If": _if,
    "Fn::ImportValue": lambda argument, scope: scope.imported(resolve(argument, scope)),
    "Fn::Join": _join,
    "Fn::Not": lambda argument, scope: not resolve(argument[0], scope),
    "Fn::Or": lambda argument, scope: any(resolve(item, scope) for item in argument),
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::Sub": _sub,
}
