"""Versions that do not go together, from constructs/eks_ray_train/versions.py."""

from collections.abc import Iterator

from eks_ray_train import versions
from eks_ray_train.checks.finding import Finding
from eks_ray_train.ecr_registries import REGIONS
from environments.settings import Settings

_KUBERNETES = "cluster.kubernetes_version"


def kubernetes_is_creatable(settings: Settings) -> Iterator[Finding]:
    """Rule ``kubernetes-creatable``."""
    version = settings.cluster.kubernetes_version
    if versions.minor_of(version) < versions.OLDEST_CREATABLE_MINOR:
        layer = versions.kubectl_layer_minor(versions.minor_of(version))
        yield Finding(
            code="kubernetes-creatable",
            field=_KUBERNETES,
            value=f"{version} (kubectl layer v{layer})",
            expected=f"1.{versions.OLDEST_CREATABLE_MINOR} or newer: EKS creates no cluster past its extended support",
            remedy=f'set kubernetes_version = "1.{versions.NEWEST_MINOR}", whose kubectl layer is '
            f"v{versions.kubectl_layer_minor(versions.NEWEST_MINOR)}",
        )
    if versions.minor_of(version) > versions.NEWEST_MINOR:
        yield Finding(
            code="kubernetes-creatable",
            field=_KUBERNETES,
            value=version,
            expected=f"1.{versions.NEWEST_MINOR} or older: the newest that this version of the app was tested with",
            remedy=f'set kubernetes_version = "1.{versions.NEWEST_MINOR}"',
        )


def driver_fits_cuda(settings: Settings) -> Iterator[Finding]:
    """Rule ``driver-fits-cuda``: KubeRay replaces the image's entrypoint, which would have helped an older driver."""
    version = settings.cluster.kubernetes_version
    if versions.minor_of(version) < versions.OLDEST_MINOR_FOR_CUDA_13:
        yield Finding(
            code="driver-fits-cuda",
            field=_KUBERNETES,
            value=version,
            expected=f"1.{versions.OLDEST_MINOR_FOR_CUDA_13} or newer, whose AMIs have the 580 driver that the image's "
            "CUDA 13 wants",
            remedy=f'set kubernetes_version = "1.{versions.NEWEST_MINOR}"',
        )


def kubectl_skew(settings: Settings) -> Iterator[Finding]:
    """Rule ``kubectl-skew``: kubectl works with API servers one minor older or newer."""
    minor = versions.minor_of(settings.cluster.kubernetes_version)
    layer = versions.kubectl_layer_minor(minor)
    if abs(layer - minor) > 1:
        layers = ", ".join(f"1.{layer}" for layer in versions.KUBECTL_LAYER_MINORS)
        yield Finding(
            code="kubectl-skew",
            field=_KUBERNETES,
            value=f"1.{minor} (nearest kubectl layer v{layer}, {abs(layer - minor)} minors away)",
            expected=f"a version at most one minor from a kubectl layer: there are layers for {layers}",
            remedy=f"choose such a version, or add aws-cdk.lambda-layer-kubectl-v{minor} to requirements.txt and to "
            "constructs/eks_ray_train/kubectl_layer.py",
        )


def ray_is_the_images(settings: Settings) -> Iterator[Finding]:
    """Rule ``ray-version``: KubeRay picks probes by it, and with a wrong one pods never get ready."""
    tag = settings.ray.image.rpartition(":")[2]
    contents = versions.IMAGES.get(tag)
    if contents and contents.ray != settings.ray.version:
        yield Finding(
            code="ray-version",
            field="ray.version",
            value=settings.ray.version,
            expected=f"{contents.ray}, which is what {tag} holds",
            remedy=f'set version = "{contents.ray}", or change ray.image',
        )
    if not contents and versions.version_tuple(settings.ray.version) < versions.OLDEST_RAY:
        yield Finding(
            code="ray-version",
            field="ray.version",
            value=settings.ray.version,
            expected=f"{'.'.join(map(str, versions.OLDEST_RAY))} or newer: KubeRay asks older ones for health with "
            "tools that the image may lack",
            remedy="set the version of Ray that the image holds, or take a newer image",
        )


def charts_are_new_enough(settings: Settings) -> Iterator[Finding]:
    """Rule ``chart-version``."""
    wanted = {
        "kuberay_operator": (versions.OLDEST_KUBERAY, "older ones ignore fields that the RayCluster and RayJob use"),
        "efa_device_plugin": (versions.OLDEST_EFA_PLUGIN, "older ones take no list of instance types that holds ours"),
    }
    for name, (oldest, why) in wanted.items():
        version = getattr(settings.charts, name)
        if versions.version_tuple(version) < oldest:
            yield Finding(
                code="chart-version",
                field=f"charts.{name}",
                value=version,
                expected=f"{'.'.join(map(str, oldest))} or newer: {why}",
                remedy="take a newer chart",
            )


def region_has_the_plugin(settings: Settings) -> Iterator[Finding]:
    """Rule ``region-known``."""
    if settings.region not in REGIONS:
        yield Finding(
            code="region-known",
            field="region",
            value=settings.region,
            expected=f"one of {', '.join(REGIONS)}",
            remedy="choose one of them, or add its registry to constructs/eks_ray_train/ecr_registries.py",
        )


def ami_is_of_the_version(settings: Settings) -> Iterator[Finding]:
    """Rule ``ami-version``: an older release has an older driver, whatever the control plane is."""
    release, version = settings.gpu_nodes.ami_release, settings.cluster.kubernetes_version
    if release and not release.startswith(f"{version}."):
        yield Finding(
            code="ami-version",
            field="gpu_nodes.ami_release",
            value=release,
            expected=f"a release of {version}, the cluster's version",
            remedy=f"take one that begins with {version}., or leave it out for the newest at creation",
        )


RULES = (
    ami_is_of_the_version,
    kubernetes_is_creatable,
    driver_fits_cuda,
    kubectl_skew,
    ray_is_the_images,
    charts_are_new_enough,
    region_has_the_plugin,
)
