"""What botocore's service models say about calls and answers."""

from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator


@cache
def model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def check(service: str, operation: str, kind: str, value: dict[str, Any]) -> None:
    """Raise AssertionError for parameters (kind ``input``) or an answer (``output``) that the model does not allow."""
    shape = getattr(model(service).operation_model(operation), f"{kind}_shape")
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), f"{operation} {kind}: {report.generate_report()}"
    _check_enums(value, shape, operation)


def _check_enums(value: Any, shape: Any, path: str) -> None:
    if shape.type_name == "structure":
        for name, item in value.items():
            _check_enums(item, shape.members[name], f"{path}.{name}")
    elif shape.type_name == "list":
        for item in value:
            _check_enums(item, shape.member, path)
    elif shape.type_name == "string" and shape.enum:
        assert value in shape.enum, f"{path} is {value!r}: expected one of {shape.enum}"
