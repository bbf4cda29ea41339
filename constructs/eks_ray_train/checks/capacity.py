"""The nodes start in the reservation that was made for them, of a kind that EC2 sells for their type.

Sources: EC2 user guide, "launch instances into a capacity reservation"; eksctl issues 7906, 8320 and 8542, where an
empty target started nodes on demand, beside a reservation that was paid for.
"""

from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule
from eks_ray_train.instance_types import INSTANCE_TYPES

_RESERVING = ("hold", "reservation")
_TARGETS = ("CapacityReservationId", "CapacityReservationResourceGroupArn")


@rule("capacity-block-type", "EC2 sells Capacity Blocks of the type that is to start in one", phase=Phase.SETTINGS)
def blocks_are_sold(subject: Subject) -> Iterator[Problem]:
    """EKS refuses the node group, after half an hour of cluster."""
    settings, node = subject.settings, subject.settings.gpu_nodes.instance
    if settings.capacity.reservation_type == "capacity-block" and not node.capacity_block:
        families = dict.fromkeys(row.family for row in INSTANCE_TYPES.values() if row.capacity_block)
        yield Problem(
            field="capacity.reservation_type",
            value="capacity-block",
            expected=f"on-demand with a {node.name}: EC2 sells Capacity Blocks of {', '.join(families)} alone",
            remedy='set reservation_type = "on-demand" where capacity.reservation_id is such a reservation, or set '
            "gpu_nodes.instance_type to the type of the block",
        )


@rule("reservation-target", "GPU nodes start in the reservation that was made for them", phase=Phase.TEMPLATES)
def nodes_start_in_the_reservation(subject: Subject) -> Iterator[Problem]:
    """Beside it they bill twice, or find no capacity."""
    mode = subject.settings.capacity.mode
    if mode not in _RESERVING:
        return
    for stack, _, properties in subject.resources("AWS::EC2::LaunchTemplate"):
        if stack != "Gpu":
            continue
        named = properties["LaunchTemplateData"].get("CapacityReservationSpecification") or {}
        target = named.get("CapacityReservationTarget") or {}
        if not any(target.get(kind) for kind in _TARGETS):
            yield Problem(
                field="Gpu: launch template: CapacityReservationSpecification",
                value=named or "not set",
                expected=f"a target with one of {' and '.join(_TARGETS)}, with capacity.mode {mode}: without it the "
                "nodes start beside the reservation, which bills all the same",
                remedy="restore it in constructs/eks_ray_train/gpu_node_group.py",
            )
