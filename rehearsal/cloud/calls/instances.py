"""DescribeInstances: the instances of node groups, which moto does not know of."""

from fnmatch import fnmatchcase
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES
from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError

_THREADS = 2


def instances(fields: dict[str, Any], account: Account) -> list[dict[str, Any]]:
    """Return a reservation for each instance that every filter lets through."""
    found = []
    for cluster in list(account.eks.clusters.values()):
        for group in list(cluster.node_groups.values()):
            for node, zone in list(group.nodes.items()):
                found.append(_view(node, zone, group.instance_type))
    for wanted in fields.get("Filter", []):
        found = [item for item in found if _matches(item, wanted)]
    return [{"reservationId": f"r-{item['instanceId'][2:]}", "instancesSet": [item]} for item in found]


def _view(node: str, zone: str, instance_type: str) -> dict[str, Any]:
    cores = INSTANCE_TYPES[instance_type].vcpus // _THREADS
    return {
        "instanceId": f"i-{node.split('.')[0][3:]}",
        "instanceType": instance_type,
        "instanceState": {"code": 16, "name": "running"},
        "placement": {"availabilityZone": zone},
        "privateDnsName": node,
        "cpuOptions": {"coreCount": cores, "threadsPerCore": _THREADS},
    }


def _matches(item: dict[str, Any], wanted: dict[str, Any]) -> bool:
    name = wanted["Name"]
    values = {
        "instance-state-name": item["instanceState"]["name"],
        "instance-type": item["instanceType"],
        "availability-zone": item["placement"]["availabilityZone"],
    }
    if name not in values:
        raise RefusedError(f"DescribeInstances: the rehearsal does not emulate the filter {name}", "InvalidFilter")
    return any(fnmatchcase(values[name], pattern) for pattern in wanted["Value"])
