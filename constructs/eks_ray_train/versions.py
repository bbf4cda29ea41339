"""Which versions go together, in one place; ``checks`` refuses what does not fit.

Sources: the EKS user guide on Kubernetes versions; the AL2023 NVIDIA AMIs' release notes for the driver branch;
KubeRay's release notes; the release notes of the AWS Ray Train container.
"""

from dataclasses import dataclass

# The layers that requirements.txt holds, by the Kubernetes minor of their kubectl. 1.30 is the one that this project
# was first asked for; EKS creates no such cluster any more.
KUBECTL_LAYER_MINORS = (30, 36)

# Extended support of 1.31 ended on 2026-11-26: EKS creates nothing as old as that. CUDA 13, which the image holds,
# wants the 580 driver, which the AL2023 NVIDIA AMIs have from 1.34 on.
OLDEST_CREATABLE_MINOR = 32
OLDEST_MINOR_FOR_CUDA_13 = 34
NEWEST_MINOR = 36

# RayCluster.authOptions came with KubeRay 1.5.1, preRunningDeadlineSeconds with 1.6; 1.7 is built against Kubernetes
# 1.36.
OLDEST_KUBERAY = (1, 7, 0)
# KubeRay asks over HTTP whether a pod is healthy from this version on, and before with wget inside the container.
OLDEST_RAY = (2, 53, 0)
# The list of instance types of older charts may lack one of ours, and the plugin then runs nowhere without a word.
OLDEST_EFA_PLUGIN = (0, 5, 30)


@dataclass(frozen=True, kw_only=True)
class ImageContents:
    """What an image tag of the AWS Ray Train container holds."""

    ray: str
    torch: str
    cuda: str


_V1_1 = ImageContents(ray="2.58.0", torch="2.13.0", cuda="13.0.2")
IMAGES = {"train-ml-cuda-v1.1": _V1_1, "train-ml-cuda-v1.1.0": _V1_1}


def minor_of(kubernetes_version: str) -> int:
    """36 for "1.36"."""
    return int(kubernetes_version.split(".")[1])


def kubectl_layer_minor(kubernetes_minor: int) -> int:
    """The minor of the kubectl layer nearest to a cluster's, the newer of two that are equally near."""
    return min(KUBECTL_LAYER_MINORS, key=lambda minor: (abs(minor - kubernetes_minor), -minor))


def version_tuple(text: str) -> tuple[int, ...]:
    """(0, 5, 32) for "v0.5.32"."""
    return tuple(int(part) for part in text.removeprefix("v").split("."))
