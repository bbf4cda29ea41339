"""The CDK app: reads the environment's name from context, composes its five stacks, checks them, synthesises."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from eks_ray_train.checks import Finding, check_objects, check_settings, check_templates, errors, render, warnings
from eks_ray_train.training_job import read_code
from environments.loading import SettingsError, load
from environments.settings import Settings
from stacks.cluster import ClusterStack
from stacks.gpu import GpuStack
from stacks.network import NetworkStack
from stacks.platform import PlatformStack
from stacks.training import TrainingStack

TRAINING_CODE = Path(__file__).resolve().parent / "training"


class InvalidEnvironmentError(Exception):
    """An environment that the checks refuse; the message is meant for the user, and ``findings`` is what it lists."""

    def __init__(self, findings: Sequence[Finding], *, source: str) -> None:
        super().__init__(render(findings, source=source))
        self.findings = findings


def build(app: cdk.App, settings: Settings, code: dict[str, str]) -> list[cdk.Stack]:
    """Adds the five stacks of an environment to ``app``, in the order in which they deploy.

    Raises:
        InvalidEnvironmentError: a check refuses the settings, or the Kubernetes objects that they lead to.
    """
    _passed(check_settings(settings), settings)
    network = NetworkStack(app, "Network", settings=settings)
    cluster = ClusterStack(app, "Cluster", settings=settings, vpc=network.vpc)
    gpu = GpuStack(
        app,
        "Gpu",
        settings=settings,
        vpc=network.vpc,
        private_subnet_by_zone=network.private_subnet_by_zone,
        cluster=cluster.cluster,
        results=cluster.results,
    )
    platform = PlatformStack(app, "Platform", settings=settings, cluster=cluster.cluster)
    training = TrainingStack(
        app, "Training", settings=settings, cluster=cluster.cluster, results=cluster.results, code=code
    )
    # Platform also holds what deletes a RayJob's finalizer, so it goes after Training on the way back.
    gpu.add_stack_dependency(cluster)
    platform.add_stack_dependency(cluster)
    training.add_stack_dependency(gpu)
    training.add_stack_dependency(platform)
    stacks: list[cdk.Stack] = [network, cluster, gpu, platform, training]
    _passed(check_objects(settings, objects_of(stacks)), settings)
    return stacks


def objects_of(stacks: Sequence[cdk.Stack]) -> list[Mapping[str, Any]]:
    """The Kubernetes objects that some stacks create."""
    return [obj for stack in stacks for obj in getattr(stack, "objects", ())]


def annotate(stacks: Sequence[cdk.Stack], settings: Settings) -> None:
    """Has the CDK command line print the warnings that the checks have of settings and objects."""
    findings = [*check_settings(settings), *check_objects(settings, objects_of(stacks))]
    for finding in warnings(findings):
        cdk.Annotations.of(stacks[0]).add_warning_v2(f"{settings.project}:{finding.code}", str(finding))


def templates_of(assembly: cdk.cx_api.CloudAssembly, stacks: Sequence[cdk.Stack]) -> dict[str, dict[str, Any]]:
    """The synthesised templates, by stack id."""
    found = {}
    for stack in stacks:
        path = Path(assembly.directory) / stack.template_file
        found[stack.node.id] = json.loads(path.read_text())
    return found


def _passed(findings: list[Finding], settings: Settings) -> list[Finding]:
    if errors(findings):
        raise InvalidEnvironmentError(findings, source=f"environments/{settings.name}.toml")
    return findings


def main() -> None:
    """Synthesises the environment that ``-c environment=NAME`` names."""
    app = cdk.App(analytics_reporting=False)
    try:
        settings = load(app.node.get_context("environment"))
        stacks = build(app, settings, read_code(TRAINING_CODE))
        annotate(stacks, settings)
        cdk.Tags.of(app).add("project", settings.project)
        cdk.Tags.of(app).add("environment", settings.name)
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        _passed(check_templates(settings, templates_of(app.synth(), stacks)), settings)
    except (SettingsError, InvalidEnvironmentError) as error:
        sys.exit(f"\n{error}\n")


if __name__ == "__main__":
    main()
