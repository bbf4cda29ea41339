"""The container image, and what the settings say is in it."""

from collections.abc import Iterator

from eks_ray_train import versions
from eks_ray_train.checks.finding import Problem, Severity
from eks_ray_train.checks.rule import Phase, Subject, rule


@rule("ray-version", "ray.version is the version of Ray in the image", phase=Phase.SETTINGS)
def ray_is_the_images(subject: Subject) -> Iterator[Problem]:
    """KubeRay picks probes by it, and with a wrong one pods never get ready."""
    ray = subject.settings.ray
    contents = versions.image_contents(ray.image)
    if contents and contents.ray != ray.version:
        yield Problem(
            field="ray.version",
            value=ray.version,
            expected=f"{contents.ray}, which is what {ray.image} holds",
            remedy=f'set version = "{contents.ray}", or change ray.image',
        )
    if not contents and versions.version_tuple(ray.version) < versions.OLDEST_RAY:
        yield Problem(
            field="ray.version",
            value=ray.version,
            expected=f"{'.'.join(map(str, versions.OLDEST_RAY))} or newer: KubeRay asks older ones for health with "
            "tools that the image may lack",
            remedy=f'take an image with a newer Ray and set version to it, such as "{versions.KNOWN_IMAGE}" with '
            f'"{versions.IMAGES[versions.KNOWN_IMAGE.rpartition(":")[2]].ray}"',
        )


@rule(
    "image-known",
    "the image is one whose Ray, PyTorch and CUDA versions are known",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def image_is_known(subject: Subject) -> Iterator[Problem]:
    """A digest is taken as meant: who pins one knows what it holds."""
    image = subject.settings.ray.image
    if "@" not in image and not versions.image_contents(image):
        yield Problem(
            field="ray.image",
            value=image,
            expected=f"{versions.IMAGE_REPOSITORY} with a tag that was looked into ({', '.join(versions.IMAGES)}), or "
            "a digest: of this one nothing can be checked, neither Ray's version nor the driver that its CUDA wants",
            remedy=f'set image = "{versions.KNOWN_IMAGE}"; or make sure that yours holds ray.version, CUDA for the '
            f"{versions.ami_driver(versions.NEWEST_MINOR)} driver and the EFA libraries, and pin it by its digest",
        )
