"""[ray], with [ray.head], [ray.worker] and [ray.transport]"""

from typing import Annotated

from pydantic import Field, field_validator

from environments.refusals import refused
from environments.sections.section import Section, Version

LEAST_SHARED_MEMORY_GIB = 8
_NEVER_DETECTED = {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_SOCKET_IFNAME": "eth0"}


class PodResources(Section):
    """What one pod asks for; its limits are the same."""

    cpu: int = Field(ge=1, description="Give whole CPU cores, 1 or more.")
    memory_gib: int = Field(ge=1, description="Give GiB of memory, 1 or more.")


class Ray(Section):
    """The container and the pods of the RayCluster."""

    image: str = Field(
        pattern=r"^[\w.-]+(/[\w.-]+)+(:[\w.-]+|@sha256:[0-9a-f]{64})$",
        description="Name the image with a tag or a digest, such as "
        "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1.",
    )
    version: Version = Field(description="Write the version of Ray in the image: 2.58.0 in train-ml-cuda-v1.1.")
    head: PodResources
    # Left out, both follow from gpu_nodes.instance_type: environments/defaults.py fills them in.
    worker: PodResources
    shared_memory_gib: int = Field(
        ge=LEAST_SHARED_MEMORY_GIB,
        description="Give GiB of a worker's /dev/shm, 8 or more, which count as memory of the pod; or leave it out.",
    )
    transport: dict[Annotated[str, Field(pattern=r"^(FI|NCCL|OFI_NCCL)_[A-Z0-9_]+$")], str] = Field(
        description="Give the workers' FI_*, NCCL_* and OFI_NCCL_* variables, each value in quotes."
    )

    @field_validator("transport")
    @classmethod
    def _nothing_left_to_detection(cls, variables: dict[str, str]) -> dict[str, str]:
        if missing := [name for name in _NEVER_DETECTED if name not in variables]:
            raise refused(
                f"also {', '.join(missing)}: NCCL would detect the network by itself, and may settle for TCP",
                "add " + ", ".join(f'{name} = "{_NEVER_DETECTED[name]}"' for name in missing),
            )
        return variables
