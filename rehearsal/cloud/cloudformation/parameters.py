"""The values of a template's parameters."""

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.errors import RefusedError

_STORED = "AWS::SSM::Parameter::Value<String>"
_TYPES = ("String", "Number", "CommaDelimitedList", _STORED)


def given_values(given: list[dict[str, Any]], previous: Mapping[str, str]) -> dict[str, str]:
    """Return what a call gives as Parameters, with the previous value where it asks for that."""
    values = {}
    for parameter in given:
        key = parameter["ParameterKey"]
        if str(parameter.get("UsePreviousValue", "")).lower() == "true":
            if key in previous:
                values[key] = previous[key]
        else:
            values[key] = parameter.get("ParameterValue", "")
    return values


def resolve_parameters(template: Template, given: Mapping[str, str], account: Account) -> dict[str, Any]:
    """Return every parameter's value as Ref gives it; raises RefusedError for missing, unknown and refused values."""
    declared = template.section("Parameters")
    if unknown := sorted(given.keys() - declared.keys()):
        raise RefusedError(f"Parameters: {unknown} do not exist in the template")
    missing = sorted(name for name, spec in declared.items() if name not in given and "Default" not in spec)
    if missing:
        raise RefusedError(f"Parameters: {missing} must have values")
    return {
        name: _value(name, spec, str(given.get(name, spec.get("Default"))), account) for name, spec in declared.items()
    }


def _value(name: str, spec: dict[str, Any], value: str, account: Account) -> Any:
    kind = spec["Type"]
    if kind not in _TYPES:
        raise RefusedError(f"Parameter {name}: the type {kind} is not emulated")
    allowed = [str(item) for item in spec.get("AllowedValues", [value])]
    if value not in allowed:
        raise RefusedError(f"Parameter '{name}' must be one of AllowedValues")
    if "AllowedPattern" in spec and not re.fullmatch(spec["AllowedPattern"], value):
        raise RefusedError(f"Parameter '{name}' must match pattern {spec['AllowedPattern']}")
    if kind == "CommaDelimitedList":
        return [item.strip() for item in value.split(",")] if value else []
    if kind == _STORED:
        ssm = account.client("ssm")
        try:
            return ssm.get_parameter(Name=value)["Parameter"]["Value"]
        except ssm.exceptions.ParameterNotFound as error:
            raise RefusedError(
                f"Unable to fetch parameters [{value}] from parameter store for this account."
            ) from error
    return value
