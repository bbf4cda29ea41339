"""The settings of one environment: strict, frozen, and validated once, when loaded.

Every field's description says what to write there: it is the remedy that a user reads when the value is refused.
Figures that follow from the instance type (GPUs, EFA interfaces, vCPUs, memory) are not settings: they come from
``eks_ray_train.instance_types``. The tables are in ``environments.sections``; here is what goes across them.
"""

from collections.abc import Iterator

from pydantic import Field, ValidationInfo, field_validator

from environments.refusals import Misfit, misfits
from environments.sections.capacity import Capacity
from environments.sections.charts import Charts
from environments.sections.cluster import Cluster
from environments.sections.cost import Cost
from environments.sections.network import Network
from environments.sections.nodes import GpuNodes, SystemNodes
from environments.sections.ray import Ray
from environments.sections.results import Results
from environments.sections.section import Section
from environments.sections.training import Training

SLUG = r"^[a-z][a-z0-9-]{0,20}[a-z0-9]$"


class Settings(Section):
    """One environment."""

    name: str = Field(pattern=SLUG, description="Rename the file.")
    project: str = Field(
        pattern=SLUG, description="Use up to 22 lower-case letters, digits and hyphens; every stack's name begins so."
    )
    account: str | None = Field(
        default=None,
        pattern=r"^\d{12}$",
        description="Pin the AWS account, 12 digits in quotes, so that no other can be deployed to by mistake.",
    )
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$", description="Name the AWS region, such as us-east-2.")
    termination_protection: bool = Field(
        description="Write true to have CloudFormation refuse to delete the stacks, else false."
    )
    network: Network
    cluster: Cluster
    system_nodes: SystemNodes
    gpu_nodes: GpuNodes
    capacity: Capacity
    charts: Charts
    ray: Ray
    training: Training
    results: Results
    cost: Cost

    @property
    def cluster_name(self) -> str:
        """The EKS cluster's name, also the prefix of the stacks' names."""
        return f"{self.project}-{self.name}"

    @property
    def world_size(self) -> int:
        """The number of training processes: one per GPU."""
        return self.gpu_nodes.count * self.gpu_nodes.instance.gpus

    # Of one section with those before it in this list: run, and told, even where a third one is refused.
    @field_validator("network")
    @classmethod
    def _of_the_region(cls, network: Network, info: ValidationInfo) -> Network:
        region = info.data.get("region")
        if region and (strange := [zone for zone in network.availability_zones if zone[:-1] != region]):
            found = Misfit(
                field="network.availability_zones",
                value=network.availability_zones,
                expected=f"zones of region {region}, and not {', '.join(strange)}",
                remedy=f"name zones that begin with {region}, such as {region}a and {region}b, or change region",
            )
            raise misfits([found])
        return network

    @field_validator("training")
    @classmethod
    def _copies_for_hsdp(cls, training: Training, info: ValidationInfo) -> Training:
        nodes = info.data.get("gpu_nodes")
        if nodes and nodes.count == 1 and training.sharding == "hsdp":
            found = Misfit(
                field="training.sharding",
                value="hsdp",
                expected="auto or full with gpu_nodes.count = 1: hsdp has a copy of the model on each of several",
                remedy='set sharding = "auto"',
            )
            raise misfits([found])
        return training

    @field_validator("capacity")
    @classmethod
    def _where_the_nodes_may_be(cls, capacity: Capacity, info: ValidationInfo) -> Capacity:
        network, nodes = info.data.get("network"), info.data.get("gpu_nodes")
        found = list(_misplaced(capacity, network.availability_zones)) if network else []
        if capacity.mode == "reservation" and nodes and nodes.placement_group:
            found.append(
                Misfit(
                    field="gpu_nodes.placement_group",
                    value=True,
                    expected="false with capacity.mode reservation: nodes in the stack's own placement group cannot "
                    "use a reservation that was made outside it",
                    remedy="set placement_group = false",
                )
            )
        if found:
            raise misfits(found)
        return capacity


def _misplaced(capacity: Capacity, zones: tuple[str, ...]) -> Iterator[Misfit]:
    candidates = capacity.zones or zones
    listed = ", ".join(zones)
    if capacity.zone is not None and capacity.zone not in zones:
        yield Misfit(
            field="capacity.zone",
            value=capacity.zone,
            expected=f"one of network.availability_zones: {listed}",
            remedy="name one of these, or add it there",
        )
    if strange := [zone for zone in capacity.zones if zone not in zones]:
        yield Misfit(
            field="capacity.zones",
            value=capacity.zones,
            expected=f"zones of network.availability_zones ({listed}), and {strange[0]} is not",
            remedy="remove it here, or add it there",
        )
    if strange := [zone for zone in capacity.exclude_zones if zone not in candidates]:
        yield Misfit(
            field="capacity.exclude_zones",
            value=capacity.exclude_zones,
            expected=f"zones of those to look in ({', '.join(candidates)}), and {strange[0]} is not",
            remedy="remove it: nobody looks there",
        )
    if set(candidates) <= set(capacity.exclude_zones):
        yield Misfit(
            field="capacity.exclude_zones",
            value=capacity.exclude_zones,
            expected=f"a zone left to look in of {', '.join(sorted(candidates))}",
            remedy="remove one, or add a zone to network.availability_zones",
        )
