"""Which versions go together, in one place; ``checks`` refuses what does not fit.

Sources: the EKS user guide on Kubernetes versions; the AL2023 NVIDIA AMIs' release notes for the driver branch;
KubeRay's release notes; the release notes of the AWS Ray Train container.
"""

from dataclasses import dataclass
from datetime import date, datetime

# The layers that requirements.txt holds, by the Kubernetes minor of their kubectl. 1.30 is the one that this project
# was first asked for; EKS creates no such cluster any more.
KUBECTL_LAYER_MINORS = (30, 36)

# Extended support of 1.31 ended on 2026-11-26: EKS creates nothing as old as that.
OLDEST_CREATABLE_MINOR = 32
NEWEST_MINOR = 36


@dataclass(frozen=True)
class Support:
    """The last days of a Kubernetes minor's standard and extended support on EKS."""

    standard: date
    extended: date


# Source: EKS user guide, "Kubernetes version lifecycle"; of 1.35 and 1.36, endoflife.date's copy of it of 2026-08-22.
SUPPORT = {
    32: Support(date(2026, 3, 23), date(2027, 3, 23)),
    33: Support(date(2026, 7, 29), date(2027, 7, 29)),
    34: Support(date(2026, 12, 2), date(2027, 12, 2)),
    35: Support(date(2027, 3, 27), date(2028, 3, 27)),
    36: Support(date(2027, 8, 2), date(2028, 8, 2)),
}

# The branch of the NVIDIA driver in the AL2023 NVIDIA AMIs (awslabs/amazon-eks-ami pull requests 2357 and 2437). Older
# minors have the first's, newer ones the last's.
AMI_DRIVERS = {33: 570, 34: 580}
# The oldest branch that runs a CUDA major. Source: CUDA release notes, "minor version compatibility".
_CUDA_DRIVERS = {11: 450, 12: 525, 13: 580}

# RayCluster.authOptions came with KubeRay 1.5.1, preRunningDeadlineSeconds with 1.6; 1.7 is built against Kubernetes
# 1.36.
OLDEST_KUBERAY = (1, 7, 0)
# KubeRay asks over HTTP whether a pod is healthy from this version on, and before with wget inside the container.
OLDEST_RAY = (2, 53, 0)
# The list of instance types of older charts may lack one of ours, and the plugin then runs nowhere without a word.
OLDEST_EFA_PLUGIN = (0, 5, 30)
# What the shipped environments use.
KUBERAY = "1.7.0"
EFA_PLUGIN = "v0.5.32"

# The newest of NEWEST_MINOR that was seen in use, on GPU nodes with EFA and the 580 driver, 2026-09-16.
AMI_RELEASE = "1.36.3-20260911"


@dataclass(frozen=True, kw_only=True)
class ImageContents:
    """What a tag of the AWS Ray Train container holds."""

    ray: str
    torch: str
    cuda: str


IMAGE_REPOSITORY = "deep-learning-containers/ray"
_V1_1 = ImageContents(ray="2.58.0", torch="2.13.0", cuda="13.0.2")
IMAGES = {"train-ml-cuda-v1.1": _V1_1, "train-ml-cuda-v1.1.0": _V1_1}
KNOWN_IMAGE = f"public.ecr.aws/{IMAGE_REPOSITORY}:train-ml-cuda-v1.1.0"
NEWEST_CUDA = "13.0.2"


def minor_of(kubernetes_version: str) -> int:
    """36 for "1.36"."""
    return int(kubernetes_version.split(".")[1])


def kubectl_layer_minor(kubernetes_minor: int) -> int:
    """The minor of the kubectl layer nearest to a cluster's, the newer of two that are equally near."""
    return min(KUBECTL_LAYER_MINORS, key=lambda minor: (abs(minor - kubernetes_minor), -minor))


def image_contents(image: str) -> ImageContents | None:
    """What the image holds, None where nobody looked: by its tag, and in a mirror of IMAGE_REPOSITORY too."""
    repository, _, tag = image.rpartition(":")
    known = "/".join(repository.split("/")[-2:]) == IMAGE_REPOSITORY
    return IMAGES.get(tag) if known else None


def ami_driver(kubernetes_minor: int) -> int:
    """The driver branch of the NVIDIA AMI of a minor: 580 for 36."""
    return max((driver for minor, driver in AMI_DRIVERS.items() if minor <= kubernetes_minor), default=570)


def driver_for_cuda(version: str) -> int:
    """The oldest driver branch for a CUDA version: 580 for "13.0.2"."""
    return _CUDA_DRIVERS[min(max(int(version.split(".")[0]), min(_CUDA_DRIVERS)), max(_CUDA_DRIVERS))]


def release_day(ami_release: str) -> date:
    """The day of an AMI release's build: 2026-09-11 for "1.36.3-20260911". Raises ValueError for no such day."""
    return datetime.strptime(ami_release.rpartition("-")[2], "%Y%m%d").date()


def version_tuple(text: str) -> tuple[int, ...]:
    """(0, 5, 32) for "v0.5.32"."""
    return tuple(int(part) for part in text.removeprefix("v").split("."))
