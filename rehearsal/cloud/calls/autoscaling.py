"""Auto Scaling's calls about the groups that EKS makes, of which moto knows nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.scaling import ScalingGroup

Fields = dict[str, Any]
_MOST_RECORDS = 100


class AutoScalingCalls:
    """Answers one call at a time."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.actions: Mapping[str, Callable[[Fields], Fields]] = {
            "DescribeAutoScalingGroups": self._groups,
            "DescribeScalingActivities": self._activities,
        }

    def _groups(self, fields: Fields) -> Fields:
        names = fields.get("AutoScalingGroupNames", [])
        if "Filters" in fields:
            raise RefusedError("DescribeAutoScalingGroups: the rehearsal does not emulate Filters")
        with self._account.scaling.lock:
            groups = [group for group in self._account.scaling.groups.values() if not group.deleted]
        return {"AutoScalingGroups": [_view(group) for group in groups if not names or group.name in names]}

    def _activities(self, fields: Fields) -> Fields:
        if unknown := sorted(fields.keys() & {"ActivityIds", "Filters"}):
            raise RefusedError(f"DescribeScalingActivities: the rehearsal does not emulate {unknown}")
        name = fields.get("AutoScalingGroupName")
        deleted = str(fields.get("IncludeDeletedGroups", "")).lower() == "true"
        with self._account.scaling.lock:
            groups = [
                group
                for group in self._account.scaling.groups.values()
                if (deleted or not group.deleted) and name in (None, group.name)
            ]
            if name is not None and not groups:
                raise RefusedError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
            found = [
                {**activity, **({"AutoScalingGroupState": "Deleted"} if group.deleted else {})}
                for group in groups
                for activity in group.activities
            ]
        found.sort(key=lambda activity: activity["StartTime"], reverse=True)
        start, size = int(fields.get("NextToken", 0)), int(fields.get("MaxRecords", _MOST_RECORDS))
        more = str(start + size) if start + size < len(found) else None
        return {"Activities": found[start : start + size], "NextToken": more}


def _view(group: ScalingGroup) -> dict[str, Any]:
    return {
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "MinSize": group.sizes["minSize"],
        "MaxSize": group.sizes["maxSize"],
        "DesiredCapacity": group.sizes["desiredSize"],
        "DefaultCooldown": 300,
        "HealthCheckType": "EC2",
        "CreatedTime": group.created,
        "AvailabilityZones": [],
        "Instances": [
            {
                "InstanceId": id,
                "AvailabilityZone": zone,
                "LifecycleState": "InService",
                "HealthStatus": "Healthy",
                "ProtectedFromScaleIn": False,
            }
            for id, zone in list(group.instances.items())
        ],
        "Tags": [
            {"Key": "eks:cluster-name", "Value": group.cluster, "ResourceId": group.name},
            {"Key": "eks:nodegroup-name", "Value": group.node_group, "ResourceId": group.name},
        ],
    }
