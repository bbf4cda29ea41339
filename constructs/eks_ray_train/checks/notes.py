"""What is no finding and still worth knowing before a deploy: quotas, what a change replaces, who can reach what."""

from collections.abc import Iterator
from dataclasses import dataclass

from eks_ray_train.checks.zones import DISALLOWED_ZONE_IDS
from environments.settings import Settings


@dataclass(frozen=True)
class Note:
    """One thing to know, under a word that says what it is about."""

    topic: str
    text: str


def notes(settings: Settings) -> list[Note]:
    """What whoever deploys this environment should know."""
    return [
        *_quota(settings),
        *_zones(settings),
        *_capacity(settings),
        *_replacement(settings),
        *_idle(settings),
        *_endpoint(settings),
        *_unverified(settings),
    ]


def _quota(settings: Settings) -> Iterator[Note]:
    if settings.capacity.reservation_type == "capacity-block":
        return
    gpu = settings.gpu_nodes
    vcpus, code = gpu.count * gpu.instance.vcpus, gpu.instance.quota_code
    yield Note(
        "quota",
        f"The account needs {vcpus} vCPUs of quota {code}, which limits its running On-Demand "
        f"{' and '.join(family.upper() for family in gpu.instance.quota_families)} instances in {settings.region}; new "
        f"accounts have none. Look: aws service-quotas get-service-quota --service-code ec2 --quota-code {code} "
        f"--region {settings.region}",
    )


def _zones(settings: Settings) -> Iterator[Note]:
    zone_id = DISALLOWED_ZONE_IDS.get(settings.region)
    if zone_id:
        yield Note(
            "zones",
            f"EKS places no control plane in the zone with the id {zone_id}, and which of your zones that is differs "
            f"between accounts. Look: aws ec2 describe-availability-zones --region {settings.region} --query "
            "'AvailabilityZones[].[ZoneName,ZoneId]'",
        )


def _capacity(settings: Settings) -> Iterator[Note]:
    if settings.capacity.mode == "hold":
        yield Note(
            "capacity",
            f"The nodes start in a reservation that ends {settings.capacity.search.hold_minutes} minutes after it was "
            "made. A node that is replaced later than that starts like any other On-Demand instance, and may find no "
            "capacity.",
        )
    if settings.capacity.mode in ("probe", "offerings", "zone"):
        yield Note(
            "capacity",
            f"With capacity.mode {settings.capacity.mode} nothing is reserved while the nodes start: somebody else may "
            "take the capacity in between. Mode hold keeps it.",
        )


def _replacement(settings: Settings) -> Iterator[Note]:
    gpu = settings.gpu_nodes
    yield Note(
        "replacement",
        "Another gpu_nodes.instance_type or another zone replaces the node group: CloudFormation starts the new nodes "
        f"before it ends the old ones, so that change needs room and quota for both ({gpu.count} x {gpu.instance_type} "
        f"are {gpu.count * gpu.instance.vcpus} vCPUs). Destroy the Training and Gpu stacks first where there is none.",
    )
    if gpu.placement_group:
        yield Note(
            "replacement",
            "With gpu_nodes.placement_group the zone cannot change while nodes run: cluster placement groups are in "
            "one zone. Destroy the Training and Gpu stacks first.",
        )
    if settings.capacity.reservation_type == "capacity-block":
        yield Note(
            "replacement",
            "EKS updates a node group of a Capacity Block (AMI release, disk, Kubernetes version) only while its "
            'desired size is 0 (EKS user guide, "Create a managed node group with Capacity Blocks for ML"). Destroy '
            "the Training and Gpu stacks first.",
        )


def _idle(settings: Settings) -> Iterator[Note]:
    minutes = settings.cost.idle_minutes
    if minutes is None:
        yield Note("cost", "The GPU nodes bill until the stacks are destroyed: cost.idle_minutes would park idle ones.")
        return
    yield Note(
        "cost",
        f"When no run has written to the results bucket for {minutes} minutes, the GPU nodes are scaled to zero, "
        "whoever else uses them; the next job has them started again. Nothing is reserved for them then.",
    )
    if settings.capacity.mode == "reservation":
        yield Note("cost", "A reservation of your own bills on while the nodes are parked.")


def _endpoint(settings: Settings) -> Iterator[Note]:
    if not settings.cluster.public_endpoint_cidrs:
        yield Note(
            "access",
            "The Kubernetes API is private: kubectl works from inside the VPC only. To use it from your desk, put your "
            "own address into cluster.public_endpoint_cidrs.",
        )


def _unverified(settings: Settings) -> Iterator[Note]:
    for what in settings.gpu_nodes.instance.unverified:
        yield Note("unverified", f"{settings.gpu_nodes.instance_type}: {what}.")
