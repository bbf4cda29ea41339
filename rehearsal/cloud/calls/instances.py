"""EC2's calls about instances and placement groups, which moto does not know of."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES
from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.reservations import Action, Fields
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.regions import region_of
from rehearsal.cloud.reservations import BLOCK, Instance

_THREADS = 2


class InstanceCalls:
    """Answers one call at a time, with its fields and region."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.actions: Mapping[str, Action] = {
            "DescribeInstances": self._instances,
            "DescribePlacementGroups": self._placement_groups,
        }

    def _instances(self, fields: Fields, region: str) -> Fields:
        names = {
            instance.id: node
            for cluster in list(self._account.eks.clusters.values())
            for group in list(cluster.node_groups.values())
            for node, instance in list(group.nodes.items())
        }
        found = [
            _view(instance, names.get(instance.id, ""))
            for instance in list(self._account.capacity.instances.values())
            if region_of(instance.zone) == region
        ]
        for wanted in fields.get("Filter", []):
            found = [item for item in found if _matches(item, wanted)]
        return {
            "reservationSet": [
                {"reservationId": f"r-{item['instanceId'][2:]}", "instancesSet": [item]} for item in found
            ]
        }

    def _placement_groups(self, fields: Fields, region: str) -> Fields:
        known = self._account.placement_groups if region == self._account.region else {}
        return {
            "placementGroupSet": [
                {
                    "groupName": name,
                    "groupArn": self._account.arn("ec2", f"placement-group/{name}"),
                    "strategy": group.strategy,
                    "state": "available",
                    "tagSet": [{"key": tag["Key"], "value": tag["Value"]} for tag in group.tags],
                }
                for name, group in known.items()
            ]
        }


def _view(instance: Instance, node: str) -> dict[str, Any]:
    cores = INSTANCE_TYPES[instance.instance_type].vcpus // _THREADS
    return {
        "instanceId": instance.id,
        "instanceType": instance.instance_type,
        "instanceLifecycle": BLOCK if instance.market == BLOCK else None,
        "instanceState": {"code": 16, "name": "running"},
        "placement": {"availabilityZone": instance.zone},
        "subnetId": instance.launched.subnet,
        "privateDnsName": node,
        "capacityReservationId": instance.reservation,
        "cpuOptions": {"coreCount": cores, "threadsPerCore": _THREADS},
    }


def _matches(item: dict[str, Any], wanted: dict[str, Any]) -> bool:
    name = wanted["Name"]
    values = {
        "instance-state-name": item["instanceState"]["name"],
        "instance-type": item["instanceType"],
        "availability-zone": item["placement"]["availabilityZone"],
        "capacity-reservation-id": item["capacityReservationId"] or "",
    }
    if name not in values:
        raise RefusedError(f"DescribeInstances: the rehearsal does not emulate the filter {name}", "InvalidFilter")
    return any(fnmatchcase(values[name], pattern) for pattern in wanted["Value"])
