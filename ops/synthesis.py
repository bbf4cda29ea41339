"""An environment synthesised in memory: no credentials, no assets copied, nothing left behind."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments.settings import Settings

Json = Mapping[str, Any]
_ROOT = Path(__file__).resolve().parent.parent
# From aws-cdk-lib's cx-api: assets are hashed, and stay where they are.
_NO_STAGING = "aws:cdk:disable-asset-staging"


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """What came out: Kubernetes objects, templates by stack id, and the stacks that each stack needs."""

    objects: tuple[Json, ...]
    templates: Mapping[str, Json]
    needs: Mapping[str, tuple[str, ...]]


def synthesise(settings: Settings) -> Synthesis:
    """Builds and synthesises the five stacks as the CDK command line would.

    Raises:
        InvalidEnvironmentError: a check on settings or objects refuses them (of ``app``).
    """
    # Half a second, which --help need not take.
    import aws_cdk as cdk

    from app import TRAINING_CODE, build, objects_of, templates_of
    from eks_ray_train.training_job import read_code

    context = json.loads((_ROOT / "cdk.json").read_text())["context"]
    with tempfile.TemporaryDirectory(prefix="raytrain-") as out:
        app = cdk.App(
            analytics_reporting=False,
            context={**context, _NO_STAGING: True},
            outdir=out,
            builtin_cloud_formation_validation=False,
        )
        stacks = build(app, settings, read_code(TRAINING_CODE))
        templates = templates_of(app.synth(), stacks)
        return Synthesis(
            objects=tuple(objects_of(stacks)),
            templates=templates,
            needs={stack.node.id: tuple(sorted(other.node.id for other in stack.dependencies)) for stack in stacks},
        )
