"""Synthesises environments in process, as the tests look at them."""

import json
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from app import TRAINING_CODE, build
from eks_ray_train.training_job import read_code
from environments.loading import FOLDER, load, parse
from environments.settings import Settings

REPOSITORY = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ("dev", "prod")
# Removed when the tests end: an assembly holds 60 MB of assets.
_OUT = tempfile.TemporaryDirectory(prefix="synthesis-")
TOKEN = "token"
# The least that is code for a job, where what it does does not matter.
CODE = {"supervise.py": "pass\n", "train.py": "pass\n"}
Template = dict[str, Any]
Resource = dict[str, Any]


def new_app() -> cdk.App:
    """An app with the feature flags of cdk.json, which only the CDK command line reads by itself."""
    context = json.loads((REPOSITORY / "cdk.json").read_text())["context"]
    return cdk.App(
        analytics_reporting=False,
        context=context,
        outdir=tempfile.mkdtemp(dir=_OUT.name),
        builtin_cloud_formation_validation=False,
    )


def settings_with(changes: Mapping[str, Any], environment: str = "dev") -> Settings:
    """An environment with some fields changed; keys are dotted paths, and None removes a field."""
    document = tomllib.loads((FOLDER / f"{environment}.toml").read_text())
    for path, value in changes.items():
        *sections, field = path.split(".")
        target = document
        for section in sections:
            target = target.setdefault(section, {})
        if value is None:
            target.pop(field)
        else:
            target[field] = value
    return parse({"name": environment, **document}, source=f"environments/{environment}.toml")


def synthesise(settings: Settings, code: Mapping[str, str] | None = None) -> dict[str, Template]:
    """The templates of an environment's stacks, by the stack's id."""
    app = new_app()
    stacks = build(app, settings, dict(code) if code is not None else read_code(TRAINING_CODE))
    assembly = app.synth()
    found = {stack.node.id: assembly.get_stack_by_name(stack.stack_name).template for stack in stacks}
    shutil.rmtree(assembly.directory)
    return found


@cache
def templates(environment: str) -> dict[str, Template]:
    """The templates of a shipped environment."""
    return synthesise(load(environment))


def resources(template: Template, resource_type: str) -> dict[str, Resource]:
    """The resources of one type, by logical id."""
    return {
        logical_id: resource
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == resource_type
    }


def only(template: Template, resource_type: str) -> Resource:
    """The properties of the one resource of a type."""
    (resource,) = resources(template, resource_type).values()
    properties: Resource = resource["Properties"]
    return properties


def manifests(template: Template) -> list[dict[str, Any]]:
    """The Kubernetes objects of a template; what only a deploy resolves is written as TOKEN."""
    found: list[dict[str, Any]] = []
    for resource in resources(template, "Custom::AWSCDK-EKS-KubernetesResource").values():
        found += json.loads(_text(resource["Properties"]["Manifest"]))
    return found


def kubernetes_objects(environment: str, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind in all of an environment's stacks."""
    return [obj for template in templates(environment).values() for obj in manifests(template) if obj["kind"] == kind]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator.join(_text(part) for part in parts))
    return TOKEN
