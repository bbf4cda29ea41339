"""The Auto Scaling groups that EKS makes for node groups, and what they did. Their history outlives them."""

import json
import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(kw_only=True)
class ScalingGroup:
    """One group; ``activities`` are as DescribeScalingActivities returns them, newest first.

    ``instances`` are its instances' zones by their ids.
    """

    name: str
    arn: str
    node_group: str
    cluster: str
    sizes: dict[str, int]
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    deleted: bool = False
    activities: list[dict[str, Any]] = field(default_factory=list)
    instances: dict[str, str] = field(default_factory=dict)

    def launched(self, instance_id: str, zone: str, subnet: str) -> None:
        """Record a launch."""
        self.instances[instance_id] = zone
        self._record(f"Launching a new EC2 instance: {instance_id}", "Successful", None, zone, subnet)

    def failed(self, message: str, zone: str, subnet: str) -> None:
        """Record a launch that EC2 refused."""
        text = f"Launching a new EC2 instance.  Status Reason: {message}"
        self._record(text, "Failed", message, zone, subnet)

    def terminated(self, instance_id: str, zone: str) -> None:
        """Record a termination."""
        del self.instances[instance_id]
        self._record(f"Terminating EC2 instance: {instance_id}", "Successful", None, zone, None)

    def _record(self, description: str, status: str, message: str | None, zone: str, subnet: str | None) -> None:
        now = datetime.now(UTC)
        wanted = self.sizes["desiredSize"]
        details = {"Availability Zone": zone, **({"Subnet ID": subnet} if subnet else {})}
        self.activities.insert(
            0,
            {
                "ActivityId": str(uuid.uuid4()),
                "AutoScalingGroupName": self.name,
                "Description": description,
                "Cause": f"At {now:%Y-%m-%dT%H:%M:%SZ} the desired capacity was {wanted}.",
                "StartTime": now,
                "EndTime": now,
                "StatusCode": status,
                "StatusMessage": message,
                "Progress": 100,
                "Details": json.dumps(details),
                "AutoScalingGroupARN": self.arn,
            },
        )


@dataclass
class Scaling:
    """The groups of the account by name, deleted ones included."""

    groups: dict[str, ScalingGroup] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def create(self, arn_start: str, cluster: str, node_group: str, sizes: dict[str, int]) -> ScalingGroup:
        """Make a node group's; ``arn_start`` is the ARN up to the group's own part."""
        id = uuid.uuid4()
        name = f"eks-{node_group}-{id}"
        arn = f"{arn_start}{uuid.uuid4()}:autoScalingGroupName/{name}"
        made = ScalingGroup(name=name, arn=arn, node_group=node_group, cluster=cluster, sizes=sizes)
        with self.lock:
            self.groups[name] = made
        return made
