"""The Kubernetes version, and what has to go with it (constructs/eks_ray_train/versions.py)."""

from collections.abc import Iterator

from eks_ray_train import versions
from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule
from eks_ray_train.ecr_registries import REGIONS

_KUBERNETES = "cluster.kubernetes_version"
_NEWEST = f'set kubernetes_version = "1.{versions.NEWEST_MINOR}"'


@rule(
    "kubernetes-creatable",
    "EKS still creates clusters of the Kubernetes version, and this app was tested with it",
    phase=Phase.SETTINGS,
)
def kubernetes_is_creatable(subject: Subject) -> Iterator[Problem]:
    """EKS creates nothing whose extended support has ended."""
    version = subject.settings.cluster.kubernetes_version
    if versions.minor_of(version) < versions.OLDEST_CREATABLE_MINOR:
        layer = versions.kubectl_layer_minor(versions.minor_of(version))
        yield Problem(
            field=_KUBERNETES,
            value=f"{version} (kubectl layer v{layer})",
            expected=f"1.{versions.OLDEST_CREATABLE_MINOR} or newer: EKS creates no cluster past its extended support",
            remedy=f"{_NEWEST}, whose kubectl layer is v{versions.kubectl_layer_minor(versions.NEWEST_MINOR)}",
        )
    if versions.minor_of(version) > versions.NEWEST_MINOR:
        yield Problem(
            field=_KUBERNETES,
            value=version,
            expected=f"1.{versions.NEWEST_MINOR} or older: the newest that this version of the app was tested with",
            remedy=_NEWEST,
        )


@rule("driver-fits-cuda", "the GPU driver of the nodes' AMI is new enough for the image's CUDA", phase=Phase.SETTINGS)
def driver_fits_cuda(subject: Subject) -> Iterator[Problem]:
    """KubeRay replaces the image's entrypoint, which would have helped an older driver."""
    version = subject.settings.cluster.kubernetes_version
    contents = versions.image_contents(subject.settings.ray.image)
    # Of an image that the table does not hold, the newest that it could be is assumed.
    cuda = contents.cuda if contents else versions.NEWEST_CUDA
    why = "the image holds it" if contents else f"what the image holds is unknown; CUDA {cuda} is assumed"
    wanted = versions.driver_for_cuda(cuda)
    there = versions.ami_driver(versions.minor_of(version))
    if there < wanted:
        oldest = min(minor for minor, driver in versions.AMI_DRIVERS.items() if driver >= wanted)
        yield Problem(
            field=_KUBERNETES,
            value=f"{version} (driver {there})",
            expected=f"1.{oldest} or newer, whose AMIs have the {wanted} driver that CUDA {cuda} wants: {why}",
            remedy=_NEWEST,
        )


@rule(
    "kubectl-skew",
    "the kubectl that talks to the cluster is at most one minor version away from it",
    phase=Phase.SETTINGS,
)
def kubectl_skew(subject: Subject) -> Iterator[Problem]:
    """Kubectl works with API servers one minor older or newer."""
    minor = versions.minor_of(subject.settings.cluster.kubernetes_version)
    layer = versions.kubectl_layer_minor(minor)
    if abs(layer - minor) > 1:
        layers = ", ".join(f"1.{layer}" for layer in versions.KUBECTL_LAYER_MINORS)
        yield Problem(
            field=_KUBERNETES,
            value=f"1.{minor} (nearest kubectl layer v{layer}, {abs(layer - minor)} minors away)",
            expected=f"a version at most one minor from a kubectl layer: there are layers for {layers}",
            remedy=f"{_NEWEST}, or add aws-cdk.lambda-layer-kubectl-v{minor} to requirements.txt and to "
            "constructs/eks_ray_train/kubectl_layer.py",
        )


@rule("ami-version", "a pinned AMI release is one of the cluster's Kubernetes version", phase=Phase.SETTINGS)
def ami_is_of_the_version(subject: Subject) -> Iterator[Problem]:
    """An older release has an older driver, whatever the control plane is."""
    settings = subject.settings
    version = settings.cluster.kubernetes_version
    # What is refused itself will change, and the release with it.
    if any(list(other.check(subject)) for other in (kubernetes_is_creatable, driver_fits_cuda, kubectl_skew)):
        return
    newest = versions.AMI_RELEASE
    known = f'set ami_release = "{newest}"' if newest.startswith(f"{version}.") else f"take one of {version}"
    for section in ("gpu_nodes", "system_nodes"):
        release = getattr(settings, section).ami_release
        if release and not release.startswith(f"{version}."):
            yield Problem(
                field=f"{section}.ami_release",
                value=release,
                expected=f"a release of {version}, the cluster's version",
                remedy=f"{known}, or leave it out for the newest at creation",
            )


@rule("chart-version", "each Helm chart knows the fields and instance types that are used here", phase=Phase.SETTINGS)
def charts_are_new_enough(subject: Subject) -> Iterator[Problem]:
    """An operator that does not know a field ignores it."""
    wanted = {
        "kuberay_operator": (
            versions.OLDEST_KUBERAY,
            versions.KUBERAY,
            "older ones ignore fields that the RayCluster and RayJob use",
        ),
        "efa_device_plugin": (
            versions.OLDEST_EFA_PLUGIN,
            versions.EFA_PLUGIN,
            "older ones take no list of instance types that holds ours",
        ),
    }
    for name, (oldest, known, why) in wanted.items():
        version = getattr(subject.settings.charts, name)
        if versions.version_tuple(version) < oldest:
            yield Problem(
                field=f"charts.{name}",
                value=version,
                expected=f"{'.'.join(map(str, oldest))} or newer: {why}",
                remedy=f'set {name} = "{known}"',
            )


@rule("region-known", "the EFA device plugin's image can be pulled in the region", phase=Phase.SETTINGS)
def region_has_the_plugin(subject: Subject) -> Iterator[Problem]:
    """EKS's image registries have an account per region."""
    if subject.settings.region not in REGIONS:
        yield Problem(
            field="region",
            value=subject.settings.region,
            expected=f"one of {', '.join(REGIONS)}",
            remedy="choose one of them, or add its registry to constructs/eks_ray_train/ecr_registries.py",
        )
