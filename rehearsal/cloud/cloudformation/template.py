"""From a template's text to its parts."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from rehearsal.cloud.errors import RefusedError

_SECTIONS = {
    "AWSTemplateFormatVersion",
    "Conditions",
    "Description",
    "Mappings",
    "Metadata",
    "Outputs",
    "Parameters",
    "Resources",
    "Rules",
}
_RESOURCE_KEYS = {
    "Condition",
    "DeletionPolicy",
    "DependsOn",
    "Metadata",
    "Properties",
    "Type",
    "UpdateReplacePolicy",
}


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms (``!Ref``, ``!Sub``); dates stay text."""


def _short_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_form)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Template:
    """A parsed template; raises RefusedError for what would be ignored here."""

    body: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The whole template."""
        try:
            data = json.loads(self.body)
        except ValueError:
            try:
                data = yaml.load(self.body, _Loader)  # noqa: S506 - a subclass of SafeLoader
            except yaml.YAMLError as error:
                raise RefusedError(f"Template format error: {error}") from error
        if not isinstance(data, dict) or not isinstance(data.get("Resources"), dict) or not data["Resources"]:
            raise RefusedError("Template format error: At least one Resources member must be defined.")
        if unknown := sorted(set(data) - _SECTIONS):
            raise RefusedError(f"Template format error: the rehearsal does not emulate the sections {unknown}")
        for name, resource in data["Resources"].items():
            if unknown := sorted(set(resource) - _RESOURCE_KEYS):
                raise RefusedError(f"Template format error: {name}: the rehearsal does not emulate {unknown}")
            if not isinstance(resource.get("Type"), str):
                raise RefusedError(
                    f"Template format error: [/Resources/{name}] Every Resources object must have a Type."
                )
        return data

    def section(self, name: str) -> dict[str, Any]:
        """Return a section, empty where the template has none."""
        return self.data.get(name) or {}

    @property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Every resource's definition, those behind false conditions included."""
        return self.section("Resources")
