"""What a node group's nodes will be, as EKS has made it out when the group was created or updated last."""

from collections.abc import Mapping
from dataclasses import dataclass

from eks_ray_train.instance_types import InstanceType
from rehearsal.cloud.reservations import Launch


@dataclass(frozen=True, kw_only=True)
class CapacityTarget:
    """The launch template's capacity reservation specification."""

    reservation_id: str | None = None
    group_arn: str | None = None
    preference: str | None = None


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """What each node gets, and a subnet for each zone, in order; ``taints`` are as Kubernetes writes them."""

    instance: InstanceType
    subnets: Mapping[str, str]
    security_groups: tuple[str, ...]
    placement_group: str | None
    efa_interfaces: int
    gpus: int
    market: str
    target: CapacityTarget
    labels: Mapping[str, str]
    taints: tuple[dict[str, str], ...]

    def launch_in(self, zone: str) -> Launch:
        """Return what EC2 is asked for in a zone."""
        return Launch(
            instance_type=self.instance.name,
            zone=zone,
            subnet=self.subnets[zone],
            market=self.market,
            reservation_id=self.target.reservation_id,
            group_arn=self.target.group_arn,
            preference=self.target.preference,
            placement_group=self.placement_group,
        )
