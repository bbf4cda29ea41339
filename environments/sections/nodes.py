"""[system_nodes] and [gpu_nodes]"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType
from eks_ray_train.versions import AMI_RELEASE, release_day
from environments.instance_choice import GpuType, SystemType
from environments.refusals import Misfit
from environments.sections.section import Section

# The AMI release that brought containerd 2.2.3, with which SOCI could not unpack the sandbox image, and the first
# release after the fix (amazon-eks-ami#2717).
_PARALLEL_PULL_BROKEN = ("20260505", "20260610")


def _ami_release(text: str) -> str:
    try:
        release_day(text)
    except ValueError:
        raise ValueError(f"a release that ends in the day of its build: there is no day {text[-8:]}") from None
    return text


AmiRelease = Annotated[str, Field(pattern=r"^1\.\d{2}\.\d+-\d{8}$"), AfterValidator(_ami_release)]
_PIN = f"Pin the EKS AMI release, such as {AMI_RELEASE}, or leave it out for the newest at creation."


class SystemNodes(Section):
    """The nodes of the Ray head, the operator and the cluster's own services."""

    instance_type: SystemType = Field(description="Choose a type without GPUs, in quotes, such as m7i.xlarge.")
    count: int = Field(ge=1, description="Give the number of system nodes, 1 or more.")
    disk_gib: int = Field(ge=100, description="Give 100 or more: the training image alone unpacks to about 20 GiB.")
    ami_release: AmiRelease | None = Field(default=None, description=_PIN)

    @property
    def instance(self) -> InstanceType:
        """The instance type's row of the table."""
        return INSTANCE_TYPES[self.instance_type]


class GpuNodes(Section):
    """The nodes that train."""

    instance_type: GpuType = Field(description="Choose a type with GPUs and EFA, in quotes, such as g6.12xlarge.")
    count: int = Field(ge=1, le=64, description="Give the number of GPU nodes, 1 to 64.")
    disk_gib: int = Field(ge=200, description="Give 200 or more: less ends in DiskPressure once the image is unpacked.")
    placement_group: bool = Field(
        description="Write true to place the nodes close together (lower latency, harder to get), else false."
    )
    ami_release: AmiRelease | None = Field(default=None, description=_PIN)
    parallel_pull: bool = Field(
        description="Write true to have nodes fetch and unpack the image in parallel (SOCI; experimental), else false."
    )

    @property
    def instance(self) -> InstanceType:
        """The instance type's row of the table."""
        return INSTANCE_TYPES[self.instance_type]

    def _misfits(self) -> Iterator[Misfit]:
        date = (self.ami_release or "").rpartition("-")[2]
        broken, mended = _PARALLEL_PULL_BROKEN
        if self.parallel_pull and broken <= date < mended:
            yield Misfit(
                field="gpu_nodes.ami_release",
                value=self.ami_release,
                expected=f"one of {mended} or newer with parallel_pull = true: with this one the nodes would never "
                "become ready (amazon-eks-ami#2712)",
                remedy="remove it for the newest at creation, or set parallel_pull = false",
            )
