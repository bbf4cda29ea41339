"""EKS's UpdateNodegroupConfig, for the size of a node group."""

import uuid
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.eks import NodeGroup
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.eks_node_group_checks import check_sizes
from rehearsal.cloud.resources.eks_nodes import scale

_INVALID = "InvalidParameterException"
_SIZES = ("minSize", "maxSize", "desiredSize")
# Every client sends a token of its own making, which tells nothing: the same size twice is one size.
_KNOWN = frozenset({"scalingConfig", "clientRequestToken"})


def update_node_group(cluster: str, name: str, fields: dict[str, Any], account: Account) -> dict[str, Any]:
    """Change the size of a node group; raises RefusedError, but not where EC2 has no room.

    As on EKS the group then is DEGRADED, with a health issue, and wants its new size all the same.
    """
    if unknown := sorted(fields.keys() - _KNOWN):
        raise RefusedError(
            f"UpdateNodegroupConfig: the rehearsal does not emulate {unknown}", "InvalidRequestException"
        )
    group, now = account.eks.node_group(cluster, name), account.capacity.now().timestamp()
    with account.eks.lock:
        sizes = _sizes(fields.get("scalingConfig", {}), group)
        if group.description["status"] not in ("ACTIVE", "DEGRADED"):
            raise RefusedError(
                "Nodegroup cannot be updated as it is currently not in Active State", "ResourceInUseException"
            )
        group.description.update(status="UPDATING")
        group.set_sizes(sizes)
    scale(group, sizes["desiredSize"], account, partly=True)
    params = [{"type": f"{key[0].upper()}{key[1:]}", "value": str(sizes[key])} for key in _SIZES]
    update = {"id": str(uuid.uuid4()), "status": "InProgress", "type": "ConfigUpdate", "params": params}
    return {"update": {**update, "createdAt": now, "errors": []}}


def _sizes(asked: dict[str, Any], group: NodeGroup) -> dict[str, int]:
    """Return the sizes that a group shall have: those that are asked for, and else those that it has."""
    if not asked or asked.keys() - set(_SIZES):
        raise RefusedError(f"scalingConfig {asked}: expected some of {', '.join(_SIZES)}, and nothing else", _INVALID)
    for key, value in asked.items():
        if type(value) is not int:
            raise RefusedError(f"scalingConfig.{key} {value!r}: expected a whole number", _INVALID)
    sizes = {**group.description["scalingConfig"], **asked}
    check_sizes(sizes)
    return sizes
