"""The settings of one environment: strict, frozen, and validated once, when loaded.

Every field's description says what to write there: it is the remedy that a user reads when the value is refused.
Figures that follow from the instance type (GPUs, EFA interfaces, vCPUs, memory) are not settings: they come from
``eks_ray_train.instance_types``.
"""

import ipaddress
import json
import math
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from eks_ray_train.capacity_probe.search import Search
from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType
from eks_ray_train.versions import AMI_RELEASE, release_day
from environments.instance_choice import GpuType, SystemType
from environments.refusals import Misfit, misfits, refused


def _cidr(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError:
        raise ValueError("an IPv4 network such as 198.51.100.7/32, with no host bits set") from None
    return text


def _ami_release(text: str) -> str:
    try:
        release_day(text)
    except ValueError:
        raise ValueError(f"a release that ends in the day of its build: there is no day {text[-8:]}") from None
    return text


Cidr = Annotated[str, AfterValidator(_cidr)]
AmiRelease = Annotated[str, Field(pattern=r"^1\.\d{2}\.\d+-\d{8}$"), AfterValidator(_ami_release)]
Version = Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
SLUG = r"^[a-z][a-z0-9-]{0,20}[a-z0-9]$"


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    def _misfits(self) -> Iterator[Misfit]:
        yield from ()

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if found := list(self._misfits()):
            raise misfits(found)
        return self


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

    def _misfits(self) -> Iterator[Misfit]:
        zones = len(self.availability_zones)
        # A /19 of private addresses for each zone, and one /19 that holds the public /24s.
        smallest = 19 - math.ceil(math.log2(zones + 1))
        vpc = ipaddress.IPv4Network(self.vpc_cidr)
        if vpc.prefixlen > smallest:
            yield Misfit(
                field="network.vpc_cidr",
                value=self.vpc_cidr,
                expected=f"/{smallest} or larger (a smaller number) for {zones} zones: each has a private /19",
                remedy=f'set vpc_cidr = "{vpc.supernet(new_prefix=16)}"',
            )
        if self.nat_gateways > zones:
            yield Misfit(
                field="network.nat_gateways",
                value=self.nat_gateways,
                expected=f"at most one per zone, and network.availability_zones lists {zones}",
                remedy=f"set nat_gateways = {zones}, or 1, which is cheapest",
            )


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


_PIN = f"Pin the EKS AMI release, such as {AMI_RELEASE}, or leave it out for the newest at creation."


class SystemNodes(_Section):
    """The nodes of the Ray head, the operator and the cluster's own services."""

    instance_type: SystemType = Field(description="Choose a type without GPUs, in quotes, such as m7i.xlarge.")
    count: int = Field(ge=1, description="Give the number of system nodes, 1 or more.")
    disk_gib: int = Field(ge=100, description="Give 100 or more: the training image alone unpacks to about 20 GiB.")
    ami_release: AmiRelease | None = Field(default=None, description=_PIN)

    @property
    def instance(self) -> InstanceType:
        """The instance type's row of the table."""
        return INSTANCE_TYPES[self.instance_type]


class GpuNodes(_Section):
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


# The AMI release that brought containerd 2.2.3, with which SOCI could not unpack the sandbox image, and the first
# release after the fix (amazon-eks-ami#2717).
_PARALLEL_PULL_BROKEN = ("20260505", "20260610")


class Capacity(_Section):
    """How the Availability Zone of the GPU nodes is chosen."""

    mode: Literal["hold", "probe", "offerings", "zone", "reservation"] = Field(
        description="Write hold (the capacity stays reserved until the nodes run), probe (reserved and given back at "
        "once), offerings (only read), zone (one that you name) or reservation (one that you have)."
    )
    zones: tuple[Zone, ...] = Field(
        default=(), description="List the zones of network.availability_zones to look in, or leave it out for all."
    )
    exclude_zones: tuple[Zone, ...] = Field(
        default=(), description="List zones to pass over, such as one whose capacity failed a deploy."
    )
    hold_minutes: int | None = Field(
        default=None,
        ge=15,
        le=720,
        description="Give the minutes for which capacity stays reserved, 15 to 720: long enough for a whole deploy.",
    )
    zone: Zone | None = Field(default=None, description="With mode zone, name one of network.availability_zones.")
    reservation_id: str | None = Field(
        default=None,
        pattern=r"^cr-[0-9a-f]{8,17}$",
        description="With mode reservation, name it, such as cr-0123456789abcdef0.",
    )
    reservation_type: Literal["on-demand", "capacity-block"] | None = Field(
        default=None, description="With mode reservation, write on-demand (the default) or capacity-block."
    )
    force_token: str | None = Field(
        default=None,
        description="Change it to any new text to have the zone chosen again; that may replace the GPU nodes.",
    )

    @property
    def search(self) -> Search:
        """What the capacity probe is told, defaults filled in."""
        return Search(
            mode=self.mode,
            zones=self.zones,
            exclude_zones=self.exclude_zones,
            hold_minutes=(self.hold_minutes or _HOLD_MINUTES) if self.mode == "hold" else None,
            zone=self.zone,
            reservation_id=self.reservation_id,
            reservation_type=(self.reservation_type or "on-demand") if self.mode == "reservation" else None,
            force_token=self.force_token,
        )

    @model_validator(mode="after")
    def _what_the_mode_reads(self) -> Self:
        for field, modes in _READ_IN_MODES.items():
            value = getattr(self, field)
            if value and self.mode not in modes:
                raise ValueError(
                    f"no capacity.{field} with mode {self.mode}, which would ignore it (it is {json.dumps(value)}): "
                    f"{' and '.join(modes)} read it"
                )
        for field in ("zone", "reservation_id"):
            if self.mode in _READ_IN_MODES[field] and getattr(self, field) is None:
                raise ValueError(f"a capacity.{field} with mode {self.mode}")
        return self


_HOLD_MINUTES = 60
_READ_IN_MODES = {
    "zones": ("hold", "probe", "offerings"),
    "exclude_zones": ("hold", "probe", "offerings"),
    "hold_minutes": ("hold",),
    "zone": ("zone",),
    "reservation_id": ("reservation",),
    "reservation_type": ("reservation",),
}


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
    # Left out, both follow from gpu_nodes.instance_type: environments/defaults.py fills them in.
    worker: PodResources
    shared_memory_gib: int = Field(
        ge=8,
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


_NEVER_DETECTED = {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_SOCKET_IFNAME": "eth0"}


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
    data: str = Field(
        pattern=r"^(stdlib|synthetic|hf://datasets/[\w.-]+/[\w.-]+(/[\w./-]+)?)$",
        description="Write stdlib (real text: the sources of Python's standard library), synthetic (random tokens), or "
        "a data set of the Hugging Face hub, hf://datasets/org/name or a folder of it, of parquet, jsonl or text.",
    )
    data_revision: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{40}$",
        description="With hf:// data, pin their commit, 40 hexadecimal digits from their page on the hub.",
    )
    text_field: str | None = Field(
        default=None,
        pattern=r"^\w+$",
        description="With hf:// data, name the column that holds the text; left out, it is text.",
    )
    steps: int = Field(ge=1, description="Give the number of optimizer steps, 1 or more.")
    sequence_length: int = Field(ge=8, le=131_072, description="Give the tokens of one sequence, 8 to 131072.")
    micro_batch: int = Field(ge=1, description="Give the sequences that one GPU takes at a time, 1 or more.")
    accumulation: int = Field(
        ge=1, description="Give the micro-batches of one optimizer step, 1 or more: nodes talk once per step."
    )
    learning_rate: float = Field(gt=0, lt=1, description="Give the peak learning rate, such as 2e-5.")
    warmup_steps: int = Field(ge=0, description="Give the steps in which the learning rate rises, such as 10.")
    schedule: Literal["constant", "cosine"] = Field(
        description="Write constant, or cosine to let the learning rate fall to a tenth."
    )
    seed: int = Field(
        ge=0, le=2**32 - 1, description="Give the seed of the data order and of new weights, of 32 bits at most."
    )
    sharding: Literal["auto", "hsdp", "full"] = Field(
        description="Write auto (hsdp on several nodes), hsdp (shard inside a node, replicate across) or full."
    )
    activation_checkpointing: Literal["off", "selective", "full"] = Field(
        description="Write off, or selective or full to compute activations again and save memory."
    )
    compile: bool = Field(description="Write true to compile each decoder layer: a slower start, faster steps.")
    checkpoint_every: int = Field(ge=0, description="Give the steps between two checkpoints, or 0 for none.")
    keep_checkpoints: int = Field(ge=1, description="Give the number of checkpoints to keep, 1 or more.")
    max_failures: int = Field(
        ge=0, description="Give the lost workers or nodes that the run survives before it fails, such as 3."
    )
    resume: str | None = Field(
        default=None,
        pattern=r"^train-[0-9a-f]+$",
        description="Name a run of this environment, train-..., to go on from its newest checkpoint, or leave it out.",
    )
    require_transport: Literal["efa", "socket", "none"] = Field(
        description="Write efa (before the first step the job proves that EFA carries its bytes, or ends), socket "
        "(the same for TCP, to compare the two) or none."
    )
    attempt: int = Field(ge=1, description="Give 1, and raise it to run the same job again.")
    deadline_hours: int = Field(
        ge=1,
        le=168,
        description="Give the hours after which the training stops itself, 1 to 168. The nodes bill on, until destroy.",
    )

    @model_validator(mode="after")
    def _nothing_without_effect(self) -> Self:
        hub = self.data.startswith("hf://")
        if hub != (self.data_revision is not None) or (self.text_field is not None and not hub):
            raise ValueError("training.data_revision with hf:// data and only then, and training.text_field only then")
        if self.checkpoint_every > self.steps:
            raise ValueError(f"training.checkpoint_every of at most training.steps, {self.steps}: it is never reached")
        if self.schedule == "cosine" and self.warmup_steps >= self.steps:
            raise ValueError(f"training.warmup_steps below training.steps, {self.steps}, or nothing is left to fall")
        return self


class Results(_Section):
    """The bucket that holds what runs produce."""

    keep: bool = Field(description="Write true to keep the bucket when the stacks are destroyed, false to empty it.")


class Settings(_Section):
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
                expected=f"zones of region {region}: {', '.join(strange)} is elsewhere",
                remedy=f"name zones that begin with {region}, or change region",
            )
            raise misfits([found])
        return network

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
