"""Objects against the schema of their kind, with the answers that Kubernetes gives for each sort of error."""

from collections.abc import Iterable
from typing import Any

from rehearsal.kubernetes.api.errors import ApiError, Fault, invalid, undecodable
from rehearsal.kubernetes.api.objects import Object, name_of
from rehearsal.kubernetes.api.resources import Resource
from rehearsal.kubernetes.api.schemas import Schema, core_schema, core_validator, crd_validator, with_defaults

# The schema leaves `spec` optional; validation in Kubernetes does not.
_NEED_SPEC = ("Pod", "Job", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
_GO_TYPES = {str: "string", bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


class Schemas:
    """The schemas of all kinds that are served; CRDs come and go."""

    def __init__(self) -> None:
        self._structural: dict[tuple[str, str], Schema] = {}
        self._validators: dict[tuple[str, str], Any] = {}

    def define(self, crd: Object) -> None:
        """Take the schemas of a CustomResourceDefinition."""
        for version in crd["spec"]["versions"]:
            key = (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"])
            self._structural[key] = version["schema"]["openAPIV3Schema"]
            self._validators.pop(key, None)

    def of(self, resource: Resource) -> Schema:
        """Return the schema that patches of a resource follow."""
        if resource.crd:
            return self._structural[resource.api_version, resource.kind]
        return core_schema(resource.api_version, resource.kind) or {}

    def defaulted(self, resource: Resource, obj: Object) -> Object:
        """Return an object of a CRD with the defaults of its schema."""
        made: Object = with_defaults(obj, self.of(resource)) if resource.crd else obj
        return made

    def check(self, resource: Resource, obj: Object) -> None:
        """Refuse unknown fields and wrong types (400), missing and impossible values (422)."""
        # A CRD's own schema takes seconds to check and is the work of its authors, not of this repository.
        if resource.kind == "CustomResourceDefinition":
            return
        errors = list(self._validator(resource).iter_errors(obj))
        if resource.crd:
            # A CRD says nothing of metadata, which is as strict for its objects as for all others.
            common = {"apiVersion": "v1", "kind": "Namespace", "metadata": obj["metadata"]}
            errors += core_validator("v1", "Namespace").iter_errors(common)
        if resource.kind in _NEED_SPEC and not obj.get("spec"):
            fault = Fault(field="spec", message="Required value", reason="FieldValueRequired")
            raise invalid(resource.kind, resource.group, name_of(obj), [fault])
        if unknown := [field for error in errors for field in _unknown_fields(error)]:
            listed = ", ".join(f'unknown field "{field}"' for field in dict.fromkeys(unknown))
            raise undecodable(resource.kind, resource.version, f"strict decoding error: {listed}")
        wrong = [error for error in errors if _is_type(error)]
        if wrong and not resource.crd:
            raise _not_decoded(resource, wrong[0])
        if errors:
            raise invalid(resource.kind, resource.group, name_of(obj), list(_faults(errors)))

    def _validator(self, resource: Resource) -> Any:
        if not resource.crd:
            return core_validator(resource.api_version, resource.kind)
        key = (resource.api_version, resource.kind)
        if key not in self._validators:
            self._validators[key] = crd_validator(self._structural[key])
        return self._validators[key]


def dotted(path: Iterable[Any]) -> str:
    """Return a path as Kubernetes writes it: `spec.containers[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _is_type(error: Any) -> bool:
    # IntOrString and Quantity are alternatives of types.
    return error.validator in ("type", "oneOf", "anyOf")


def _unknown_fields(error: Any) -> Iterable[str]:
    if error.validator != "additionalProperties" or error.validator_value is not False:
        return
    for name in error.instance:
        if name not in error.schema.get("properties", {}):
            yield dotted([*error.absolute_path, name])


def _not_decoded(resource: Resource, error: Any) -> ApiError:
    wanted = error.validator_value
    expected = next((kind for kind in wanted if kind != "null"), "") if isinstance(wanted, list) else wanted
    expected = expected if isinstance(expected, str) else "int or string"
    found = _GO_TYPES[type(error.instance)]
    field = f"{resource.kind}.{dotted(error.absolute_path)}"
    why = f"json: cannot unmarshal {found} into Go struct field {field} of type {expected}"
    return undecodable(resource.kind, resource.version, why)


def _faults(errors: Iterable[Any]) -> Iterable[Fault]:
    for error in errors:
        field = dotted(error.absolute_path)
        match error.validator:
            case "required":
                for name in error.validator_value:
                    if name not in error.instance:
                        yield Fault(
                            field=f"{field}.{name}".lstrip("."), message="Required value", reason="FieldValueRequired"
                        )
            case "enum":
                supported = ", ".join(f'"{value}"' for value in error.validator_value)
                message = f"Unsupported value: {_quoted(error.instance)}: supported values: {supported}"
                yield Fault(field=field, message=message, reason="FieldValueNotSupported")
            case "type":
                found = _JSON_TYPES[type(error.instance)]
                wanted = error.validator_value
                why = f"{field} in body must be of type {wanted}: {_quoted(found)}"
                yield Fault(
                    field=field, message=f"Invalid value: {_quoted(found)}: {why}", reason="FieldValueTypeInvalid"
                )
            case _:
                yield Fault(field=field, message=f"Invalid value: {_quoted(error.instance)}: {error.message}")


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
