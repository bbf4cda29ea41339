"""A stack with the probe alone."""

from typing import Any

from aws_cdk import App, CfnParameter, Environment, Stack

from eks_ray_train.capacity_probe import CapacityProbe, Search
from eks_ray_train.capacity_reservations import reservation_target
from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.placement_group import PlacementGroup

from .sent import PLANTED

ZONES = ["us-east-2a", "us-east-2b"]
SEARCHES = {
    "hold": Search(mode="hold", hold_minutes=60),
    "probe": Search(mode="probe"),
    "offerings": Search(mode="offerings"),
    "zone": Search(mode="zone", zone="us-east-2b"),
    "reservation": Search(mode="reservation", reservation_id=PLANTED, reservation_type="on-demand"),
}


def small_app(
    mode: str = "probe", *, env: Environment | None = None, in_group: bool = False, **changes: Any
) -> tuple[App, Stack, CapacityProbe]:
    app = App(analytics_reporting=False)
    stack = Stack(app, "dev-Gpu", env=env)
    search = changes.pop("search", SEARCHES.get(mode))
    given: dict[str, Any] = {
        "instance_type": INSTANCE_TYPES["g6.12xlarge"],
        "count": 2,
        "search": search,
        "subnets_by_zone": {zone: CfnParameter(stack, f"Subnet{zone[-1]}").value_as_string for zone in ZONES},
        "placement_group": PlacementGroup(stack, "PlacementGroup") if in_group else None,
        "reservations": reservation_target(stack, "CapacityReservations", search=search),
    }
    return app, stack, CapacityProbe(stack, "CapacityProbe", **(given | changes))
