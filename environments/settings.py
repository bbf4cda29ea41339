"""The settings of one environment: strict, frozen, and validated once, when loaded.

Every field's description says what to write there: it is the remedy that a user reads when the value is refused.
Figures that follow from the instance type (GPUs, EFA interfaces, vCPUs, memory) are not settings: they come from
``eks_ray_train.instance_types``.
"""

import ipaddress
import math
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType


def _known_instance_type(name: str) -> str:
    if name not in INSTANCE_TYPES:
        raise ValueError(f"an instance type of the table: {', '.join(sorted(INSTANCE_TYPES))}")
    return name


def _cidr(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError:
        raise ValueError("an IPv4 network such as 198.51.100.7/32, with no host bits set") from None
    return text


InstanceTypeName = Annotated[str, AfterValidator(_known_instance_type)]
Cidr = Annotated[str, AfterValidator(_cidr)]
Version = Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
SLUG = r"^[a-z][a-z0-9-]{0,20}[a-z0-9]$"


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Network(_Section):
    """The VPC."""

    availability_zones: tuple[Zone, ...] = Field(
        min_length=2,
        max_length=6,
        description="List two to six zones of the region, for EKS wants its control plane in two.",
    )
    vpc_cidr: Cidr = Field(description="Give the VPC a private IPv4 network, a /16 unless it must be smaller.")
    nat_gateways: int = Field(
        ge=1, description="Give 1 (cheapest), or one per zone so that a zone's failure cuts off no other."
    )

    @field_validator("availability_zones")
    @classmethod
    def _distinct(cls, zones: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(zones)) != len(zones):
            raise ValueError("each zone once")
        return zones

    @field_validator("vpc_cidr")
    @classmethod
    def _private(cls, cidr: str) -> str:
        network = ipaddress.IPv4Network(cidr)
        if not network.is_private or network.prefixlen < 16:
            raise ValueError("a private network of /16 or smaller, such as 10.0.0.0/16")
        return cidr

    @model_validator(mode="after")
    def _room_for_the_subnets(self) -> Self:
        zones = len(self.availability_zones)
        # A /19 of private addresses for each zone, and one /19 that holds the public /24s.
        smallest = 19 - math.ceil(math.log2(zones + 1))
        if ipaddress.IPv4Network(self.vpc_cidr).prefixlen > smallest:
            raise ValueError(f"network.vpc_cidr of /{smallest} or larger for {zones} zones")
        return self

    @model_validator(mode="after")
    def _no_idle_gateway(self) -> Self:
        if self.nat_gateways > len(self.availability_zones):
            raise ValueError(f"network.nat_gateways of at most one per zone, {len(self.availability_zones)} here")
        return self


class Cluster(_Section):
    """The EKS control plane and who may reach it."""

    kubernetes_version: str = Field(
        pattern=r"^1\.\d{2}$", description="Write the EKS version, such as 1.36, in quotes."
    )
    admin_principals: tuple[
        Annotated[str, Field(pattern=r"^arn:aws[\w-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+$")], ...
    ] = Field(
        description="List full IAM role or user ARNs (an SSO role with its path) that get cluster-admin besides "
        "the admin role that the stack makes; an empty list adds none."
    )
    public_endpoint_cidrs: tuple[Cidr, ...] = Field(
        description="List the networks that may reach the Kubernetes API from outside, such as your office's address "
        "with /32; with an empty list it is private, and kubectl works only from inside the VPC."
    )

    @field_validator("public_endpoint_cidrs")
    @classmethod
    def _restricted(cls, cidrs: tuple[str, ...]) -> tuple[str, ...]:
        for cidr in cidrs:
            network = ipaddress.IPv4Network(cidr)
            if network.prefixlen < 8:
                raise ValueError(f"networks of /8 or narrower: {cidr} opens the API to the internet")
            if any(network.overlaps(ipaddress.IPv4Network(example)) for example in _DOCUMENTATION_NETWORKS):
                raise ValueError(f"networks of your own: {cidr} is reserved for documentation")
            if not network.is_global:
                raise ValueError(f"addresses as the internet sees them: {cidr} is private")
        return cidrs


_DOCUMENTATION_NETWORKS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")


class SystemNodes(_Section):
    """The nodes of the Ray head, the operator and the cluster's own services."""

    instance_type: InstanceTypeName = Field(description="Choose a type without GPUs, such as m7i.xlarge.")
    count: int = Field(ge=1, description="Give the number of system nodes, 1 or more.")
    disk_gib: int = Field(ge=100, description="Give 100 or more: the training image alone unpacks to about 20 GiB.")

    @property
    def instance(self) -> InstanceType:
        """The instance type's row of the table."""
        return INSTANCE_TYPES[self.instance_type]

    @field_validator("instance_type")
    @classmethod
    def _without_gpus(cls, name: str) -> str:
        if INSTANCE_TYPES[name].gpus:
            raise ValueError("an instance type without GPUs")
        return name


class GpuNodes(_Section):
    """The nodes that train."""

    instance_type: InstanceTypeName = Field(description="Choose a type with GPUs and EFA, such as g6.12xlarge.")
    count: int = Field(ge=1, le=64, description="Give the number of GPU nodes, 1 to 64.")
    disk_gib: int = Field(ge=200, description="Give 200 or more: less ends in DiskPressure once the image is unpacked.")
    placement_group: bool = Field(
        description="Write true to place the nodes close together (lower latency, harder to get), else false."
    )
    ami_release: str | None = Field(
        default=None,
        pattern=r"^1\.\d{2}\.\d+-\d{8}$",
        description="Pin the EKS AMI release, such as 1.36.1-20261110, or leave it out for the newest at creation.",
    )

    @property
    def instance(self) -> InstanceType:
        """The instance type's row of the table."""
        return INSTANCE_TYPES[self.instance_type]

    @field_validator("instance_type")
    @classmethod
    def _with_gpus_and_efa(cls, name: str) -> str:
        row = INSTANCE_TYPES[name]
        if not (row.gpus and row.efa_interfaces):
            raise ValueError("an instance type with GPUs and EFA interfaces")
        return name


class Capacity(_Section):
    """How the Availability Zone of the GPU nodes is chosen."""

    mode: Literal["probe", "zone"] = Field(
        description="Write probe to have capacity proven and the zone chosen, or zone to name the zone yourself."
    )
    zone: Zone | None = Field(default=None, description="With mode zone, name one of network.availability_zones.")
    force_token: str | None = Field(
        default=None,
        description="Change it to any new text to have the zone chosen again; that may replace the GPU nodes.",
    )

    @model_validator(mode="after")
    def _zone_with_mode_zone(self) -> Self:
        if (self.zone is not None) != (self.mode == "zone"):
            raise ValueError("capacity.zone with mode zone, and only then")
        return self


class Charts(_Section):
    """Versions of the Helm charts."""

    kuberay_operator: Version = Field(description="Write a version of the kuberay-operator chart, such as 1.7.0.")
    nvidia_device_plugin: Version = Field(
        description="Write a version of the nvidia-device-plugin chart, such as 0.20.0."
    )
    efa_device_plugin: Version = Field(
        description="Write a version of the aws-efa-k8s-device-plugin chart, such as v0.5.32."
    )


class PodResources(_Section):
    """What one pod asks for; its limits are the same."""

    cpu: int = Field(ge=1, description="Give whole CPU cores, 1 or more.")
    memory_gib: int = Field(ge=1, description="Give GiB of memory, 1 or more.")


class Ray(_Section):
    """The container and the pods of the RayCluster."""

    image: str = Field(
        pattern=r"^[\w.-]+(/[\w.-]+)+(:[\w.-]+|@sha256:[0-9a-f]{64})$",
        description="Name the image with a tag or a digest.",
    )
    version: Version = Field(description="Write the version of Ray in the image, such as 2.58.0.")
    head: PodResources
    worker: PodResources
    shared_memory_gib: int = Field(
        ge=8, description="Give GiB of a worker's /dev/shm, 8 or more; they count as memory of the pod."
    )
    transport: dict[Annotated[str, Field(pattern=r"^(FI|NCCL|OFI_NCCL)_[A-Z0-9_]+$")], str] = Field(
        description="Give the workers' FI_*, NCCL_* and OFI_NCCL_* variables, each value in quotes."
    )

    @field_validator("transport")
    @classmethod
    def _nothing_left_to_detection(cls, variables: dict[str, str]) -> dict[str, str]:
        if missing := sorted({"FI_PROVIDER", "NCCL_NET_PLUGIN", "NCCL_SOCKET_IFNAME"} - variables.keys()):
            raise ValueError(f"also {', '.join(missing)}: NCCL would detect the network, and may settle for TCP")
        return variables


class Training(_Section):
    """The training job."""

    model: str = Field(
        pattern=r"^[\w-][\w.-]*/[\w.-]+$",
        description="Name a model of the Hugging Face hub, such as Qwen/Qwen2.5-1.5B. A folder on your disk does not "
        "exist in the cluster; `make rehearse MODEL=folder` takes one.",
    )
    revision: str = Field(
        pattern=r"^[0-9a-f]{40}$", description="Pin the model's commit, 40 hexadecimal digits from its page on the hub."
    )
    data: Literal["stdlib", "synthetic"] = Field(
        description="Write stdlib (real text: the sources of Python's standard library) or synthetic (random tokens)."
    )
    steps: int = Field(ge=1, description="Give the number of optimizer steps, 1 or more.")
    sequence_length: int = Field(ge=8, le=131_072, description="Give the tokens of one sequence, 8 to 131072.")
    micro_batch: int = Field(ge=1, description="Give the sequences that one GPU takes in one step, 1 or more.")
    learning_rate: float = Field(gt=0, lt=1, description="Give the peak learning rate, such as 2e-5.")
    seed: int = Field(
        ge=0, le=2**32 - 1, description="Give the seed of the data order and of new weights, of 32 bits at most."
    )
    attempt: int = Field(ge=1, description="Give 1, and raise it to run the same job again.")
    deadline_hours: int = Field(
        ge=1,
        le=168,
        description="Give the hours after which the training stops itself, 1 to 168. The nodes bill on, until destroy.",
    )


class Results(_Section):
    """The bucket that holds what runs produce."""

    keep: bool = Field(description="Write true to keep the bucket when the stacks are destroyed, false to empty it.")


class Settings(_Section):
    """One environment."""

    name: str = Field(pattern=SLUG)
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

    @property
    def cluster_name(self) -> str:
        """The EKS cluster's name, also the prefix of the stacks' names."""
        return f"{self.project}-{self.name}"

    @property
    def world_size(self) -> int:
        """The number of training processes: one per GPU."""
        return self.gpu_nodes.count * self.gpu_nodes.instance.gpus

    @model_validator(mode="after")
    def _zones_of_the_region(self) -> Self:
        zones = self.network.availability_zones
        for zone in zones:
            if zone[:-1] != self.region:
                raise ValueError(f"network.availability_zones of region {self.region}: {zone} is not")
        if self.capacity.zone is not None and self.capacity.zone not in zones:
            raise ValueError(f"capacity.zone of network.availability_zones: {', '.join(zones)}")
        return self
