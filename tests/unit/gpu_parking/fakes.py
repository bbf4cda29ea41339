"""A node group with its Auto Scaling group, a bucket and a clock, as far as the functions ask."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from eks_ray_train.gpu_parking.asset.idle_nodes.clients import WakingClients

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@dataclass
class World:
    """All clients at once.

    EC2 launches up to ``room`` of the ``size`` nodes; each runs ``boot`` seconds later. ``refused`` are its words for a
    launch that failed, which stays known. ``busy`` calls find the group being changed, and ``busy_after`` calls after
    each change; ``going`` looks see an instance on its way out; ``statuses`` are what the next looks at the group see.
    """

    size: int = 2
    status: str = "ACTIVE"
    created: datetime = NOON - 600 * MINUTE
    writes: dict[str, datetime] = field(default_factory=dict)
    page: int = 1000
    room: int = 64
    refused: str | None = None
    busy: int = 0
    busy_after: int = 0
    stack: str = "UPDATE_IN_PROGRESS"
    seconds: float = 0
    limit: float = 840
    launched: list[float] = field(default_factory=lambda: [-1000.0, -1000.0])
    boot: float = 15
    going: int = 0
    statuses: list[str] = field(default_factory=list)
    asked: list[dict[str, int]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    activities: list[dict[str, Any]] = field(default_factory=list)
    listed: Callable[[int], None] = lambda calls: None

    @property
    def running(self) -> int:
        return sum(self.seconds - at >= self.boot for at in self.launched)

    @property
    def clients(self) -> WakingClients:
        return WakingClients(
            eks=self,
            s3=self,
            scaling=self,
            stacks=self,
            region="us-east-2",
            remaining_ms=lambda: int((self.limit - self.seconds) * 1000),
            now=self.now,
            sleep=self.sleep,
        )

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def sleep(self, seconds: float) -> None:
        self._launch()
        self.seconds += seconds
        self._launch()

    def _launch(self) -> None:
        missing = min(self.size, self.room) - len(self.launched)
        self.launched += [self.seconds] * missing

    def describe_nodegroup(self, **parameters: Any) -> dict[str, Any]:
        assert parameters == {"clusterName": "ray-train-dev", "nodegroupName": "nodes"}
        self.said.append("describe_nodegroup")
        return {
            "nodegroup": {
                "scalingConfig": {"minSize": self.size, "desiredSize": self.size, "maxSize": 2},
                "status": self.statuses.pop(0) if self.statuses else self.status,
                "createdAt": self.created,
                "modifiedAt": self.now(),  # as on EKS, which moves it by itself
                "resources": {"autoScalingGroups": [{"name": "eks-nodes-1"}]},
            }
        }

    def update_nodegroup_config(self, **parameters: Any) -> dict[str, Any]:
        self.said.append("update_nodegroup_config")
        if self.busy:
            self.busy -= 1
            raise ClientError({"Error": {"Code": "ResourceInUseException", "Message": ""}}, "UpdateNodegroupConfig")
        self.asked.append(parameters["scalingConfig"])
        self.size = parameters["scalingConfig"]["desiredSize"]
        self.busy = self.busy_after
        del self.launched[self.size :]
        return {"update": {"status": "InProgress"}}

    def list_objects_v2(self, **parameters: Any) -> dict[str, Any]:
        assert parameters["Bucket"] == "results"
        self.said.append(f"list_objects_v2 {parameters['Prefix']}")
        self.listed(len(self.said))
        names = sorted(name for name in self.writes if name.startswith(parameters["Prefix"]))
        start = int(parameters.get("ContinuationToken", 0))
        end = start + self.page
        found = [{"Key": name, "LastModified": self.writes[name]} for name in names[start:end]]
        more = {"IsTruncated": True, "NextContinuationToken": str(end)} if end < len(names) else {"IsTruncated": False}
        return more | ({"Contents": found} if found else {})

    def put_object(self, **parameters: Any) -> dict[str, Any]:
        self.said.append("put_object")
        assert parameters["Bucket"] == "results"
        self.writes[parameters["Key"]] = self.now()
        return {}

    def describe_auto_scaling_groups(self, **parameters: Any) -> dict[str, Any]:
        assert parameters == {"AutoScalingGroupNames": ["eks-nodes-1"]}
        states = ["InService"] * self.running + ["Pending"] * (len(self.launched) - self.running)
        if self.going:
            self.going -= 1
            states = ["Terminating:Wait", *states]
        return {"AutoScalingGroups": [{"Instances": [{"LifecycleState": state} for state in states]}]}

    def describe_scaling_activities(self, **parameters: Any) -> dict[str, Any]:
        assert parameters == {"AutoScalingGroupName": "eks-nodes-1"}
        if self.refused:  # Auto Scaling remembers it when a later launch succeeds
            failed = {"StatusCode": "Failed", "StartTime": self.now(), "StatusMessage": self.refused}
            return {"Activities": [failed | {"Description": "Launching a new EC2 instance."}, *self.activities]}
        return {"Activities": self.activities}

    def describe_stacks(self, **parameters: Any) -> dict[str, Any]:
        if self.stack == "unknown":
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": ""}}, "DescribeStacks")
        return {"Stacks": [{"StackStatus": self.stack}]}
