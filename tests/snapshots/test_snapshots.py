"""One snapshot per stack, and one per set of Kubernetes objects, of each environment: they change when the design does.

Blind to asset hashes, and taken with a fixed stand-in for the training code. `pytest --snapshot-update` writes them.
"""

import json
import re
from functools import cache
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from environments.loading import load
from tests.synthesis import ENVIRONMENTS, Template, manifests, settings_with, synthesise

STACKS = ("Network", "Cluster", "Gpu", "Platform", "Training")
# Environments that are not shipped: dev with another instance type, by what their snapshots are called. Both types are
# offered in dev's region. Network and Cluster are dev's own.
OTHER_TYPES = {"p4d": "p4d.24xlarge", "p5": "p5.48xlarge"}
CODE = {"__init__.py": "", "supervise.py": "", "train.py": "print('the job')\n"}
_ASSET = re.compile(r"\b[0-9a-f]{64}\b")


class YamlFile(SingleFileSnapshotExtension):
    """A snapshot that reads as YAML and diffs by line."""

    file_extension = "yaml"
    _write_mode = WriteMode.TEXT

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """The file's name: what the assertion calls it."""
        return str(index)

    def serialize(self, data: Any, **_: Any) -> str:
        """The text that is compared."""
        return _ASSET.sub("<asset>", yaml.safe_dump(data, sort_keys=True, width=120))


@cache
def _templates(environment: str) -> dict[str, Template]:
    if environment in OTHER_TYPES:
        return synthesise(settings_with({"gpu_nodes.instance_type": OTHER_TYPES[environment]}), CODE)
    return synthesise(load(environment), CODE)


def _without_manifests(template: Template) -> Template:
    """The objects have snapshots of their own; here their names are enough."""
    copy: Template = json.loads(json.dumps(template))
    for logical_id, resource in copy["Resources"].items():
        if resource["Type"] == "Custom::AWSCDK-EKS-KubernetesResource":
            alone = {"Resources": {logical_id: template["Resources"][logical_id]}}
            resource["Properties"]["Manifest"] = [
                f"{obj['kind']}/{obj['metadata']['name']}" for obj in manifests(alone)
            ]
    return copy


@pytest.mark.parametrize(
    ("environment", "stack"),
    [(environment, stack) for environment in ENVIRONMENTS for stack in STACKS]
    + [(environment, stack) for environment in OTHER_TYPES for stack in STACKS[2:]],
)
def test_stack(environment: str, stack: str, snapshot: SnapshotAssertion) -> None:
    assert _without_manifests(_templates(environment)[stack]) == snapshot(
        name=f"{environment}-{stack}", extension_class=YamlFile
    )


@pytest.mark.parametrize("stack", ["Gpu", "Training"])
@pytest.mark.parametrize("environment", [*ENVIRONMENTS, *OTHER_TYPES])
def test_kubernetes_objects(environment: str, stack: str, snapshot: SnapshotAssertion) -> None:
    objects = {
        f"{obj['kind']}/{re.sub('[0-9a-f]{10}', '<hash>', obj['metadata']['name'])}": obj
        for obj in manifests(_templates(environment)[stack])
    }
    assert objects == snapshot(name=f"{environment}-{stack}-objects", extension_class=YamlFile)
