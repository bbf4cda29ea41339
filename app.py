"""The CDK app: reads the environment's name from context, composes its five stacks, checks them, synthesises."""

import sys
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from eks_ray_train.checks import check_objects, check_settings, render
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
    """An environment that the checks refuse; the message is meant for the user."""


def build(app: cdk.App, settings: Settings, code: dict[str, str]) -> list[cdk.Stack]:
    """Adds the five stacks of an environment to ``app``, in the order in which they deploy.

    Raises:
        InvalidEnvironmentError: a check refuses the settings, or the Kubernetes objects that they lead to.
    """
    source = f"environments/{settings.name}.toml"
    if findings := check_settings(settings):
        raise InvalidEnvironmentError(render(findings, source=source))
    network = NetworkStack(app, "Network", settings=settings)
    cluster = ClusterStack(app, "Cluster", settings=settings, vpc=network.vpc)
    gpu = GpuStack(
        app,
        "Gpu",
        settings=settings,
        vpc=network.vpc,
        private_subnet_by_zone=network.private_subnet_by_zone,
        cluster=cluster.cluster,
    )
    platform = PlatformStack(app, "Platform", settings=settings, cluster=cluster.cluster)
    training = TrainingStack(app, "Training", settings=settings, cluster=cluster.cluster, code=code)
    # Platform also holds what deletes a RayJob's finalizer, so it goes after Training on the way back.
    gpu.add_stack_dependency(cluster)
    platform.add_stack_dependency(cluster)
    training.add_stack_dependency(gpu)
    training.add_stack_dependency(platform)
    if findings := check_objects(settings, [*gpu.objects, *training.objects]):
        raise InvalidEnvironmentError(render(findings, source=source))
    return [network, cluster, gpu, platform, training]


def main() -> None:
    """Synthesises the environment that ``-c environment=NAME`` names."""
    app = cdk.App(analytics_reporting=False)
    try:
        settings = load(app.node.get_context("environment"))
        build(app, settings, read_code(TRAINING_CODE))
    except (SettingsError, InvalidEnvironmentError) as error:
        sys.exit(f"\n{error}\n")
    cdk.Tags.of(app).add("project", settings.project)
    cdk.Tags.of(app).add("environment", settings.name)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
