"""Which capacity a node group's launch template asks for, and what EKS and EC2 refuse of it."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.node_plans import CapacityTarget
from rehearsal.cloud.reservations import BLOCK, ON_DEMAND

_INVALID = "InvalidParameterException"
_CAPACITY_TYPES = ("ON_DEMAND", "CAPACITY_BLOCK")
_PREFERENCES = ("open", "none", "capacity-reservations-only")


def check_market(wanted: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the market that a node group buys in; raises RefusedError where its launch template disagrees."""
    capacity_type = wanted.get("CapacityType", "ON_DEMAND")
    if capacity_type not in _CAPACITY_TYPES:
        raise RefusedError(f"AWS::EKS::Nodegroup: the rehearsal does not emulate CapacityType {capacity_type}")
    market = data.get("InstanceMarketOptions", {}).get("MarketType")
    if capacity_type == "ON_DEMAND":
        if market is not None:
            raise RefusedError(
                f"Launch template should not contain instance market options ({market}) for capacity type ON_DEMAND",
                _INVALID,
            )
        return ON_DEMAND
    if market != BLOCK:
        raise RefusedError(
            f"Capacity type CAPACITY_BLOCK needs a launch template with the market type {BLOCK}, not {market}", _INVALID
        )
    if wanted.get("InstanceTypes") or "InstanceType" not in data:
        raise RefusedError(
            "Capacity type CAPACITY_BLOCK needs the instance type in the launch template, and none in the node group",
            _INVALID,
        )
    return BLOCK


def capacity_target(data: dict[str, Any], market: str, account: Account) -> CapacityTarget:
    """Return what the launches aim at; an empty target is none, silently, as on AWS."""
    specification = data.get("CapacityReservationSpecification", {})
    target = specification.get("CapacityReservationTarget", {})
    found = CapacityTarget(
        reservation_id=target.get("CapacityReservationId"),
        group_arn=target.get("CapacityReservationResourceGroupArn"),
        preference=specification.get("CapacityReservationPreference"),
    )
    if found.preference not in (None, *_PREFERENCES):
        raise RefusedError(
            f"Capacity reservation preference {found.preference}: expected one of {_PREFERENCES}", _INVALID
        )
    if found.reservation_id and found.group_arn:
        raise RefusedError(
            "A capacity reservation target has either an id or a resource group, not both",
            "InvalidParameterCombination",
        )
    if (found.reservation_id or found.group_arn) and found.preference in ("open", "none"):
        raise RefusedError(
            f"A capacity reservation target can't be used with preference {found.preference}",
            "InvalidParameterCombination",
        )
    if market == BLOCK and not (found.reservation_id or found.group_arn):
        raise RefusedError("Launches into a Capacity Block must target it", "InvalidParameterCombination")
    if found.group_arn is not None:
        groups = account.client("resource-groups").list_groups()["GroupIdentifiers"]
        if found.group_arn not in [group["GroupArn"] for group in groups]:
            raise RefusedError(f"The resource group {found.group_arn} does not exist", "InvalidParameterValue")
    return found
