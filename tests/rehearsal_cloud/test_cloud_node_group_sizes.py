"""UpdateNodegroupConfig: a node group's size is changed beside CloudFormation, with and without room."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import GPU, Resources, Stacks, caller, control, group_properties

ZONE = "us-east-2a"


class Sized:
    """A node group of none to two nodes, made with two."""

    def __init__(self, cloud: Cloud, stacks: Stacks, network: dict[str, str], cluster: dict[str, str]) -> None:
        self.cloud, self.stacks, self._network, self._cluster = cloud, stacks, network, cluster
        self.eks, self.scaling = caller(cloud, "eks"), caller(cloud, "autoscaling")
        made = stacks.create("sizes", self.resources(), {"Id": {"Value": {"Ref": "Nodes"}}})
        cluster_name, name = made["Outputs"][0]["OutputValue"].split("/")
        self.names = {"clusterName": cluster_name, "nodegroupName": name}

    def resources(self, desired: int = 2, **changes: Any) -> Resources:
        sizes = {"MinSize": 0, "DesiredSize": desired, "MaxSize": 2}
        properties = group_properties(self._network, self._cluster, ScalingConfig=sizes, **changes)
        return {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}}

    def resize(self, **sizes: int) -> dict[str, Any]:
        return dict(self.eks.update_nodegroup_config(**self.names, scalingConfig=sizes)["update"])

    def describe(self) -> dict[str, Any]:
        return dict(self.eks.describe_nodegroup(**self.names)["nodegroup"])

    def described(self) -> dict[str, Any]:
        """What stays the same while nobody changes the group."""
        return {name: value for name, value in self.describe().items() if name != "modifiedAt"}

    def instances(self) -> list[dict[str, Any]]:
        (group,) = self.scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
        return list(group["Instances"])


@pytest.fixture
def sized(room: Cloud, stacks: Stacks, network: dict[str, str], cluster: dict[str, str]) -> Iterator[Sized]:
    made = Sized(room, stacks, network, cluster)
    yield made
    stacks.delete("sizes")


def test_a_group_is_scaled_to_zero_and_back(sized: Sized, nodes: dict[str, Any]) -> None:
    before = sized.describe()
    assert len(nodes) == len(sized.instances()) == 2
    control(sized.cloud, "POST", "clock", minutes=30)
    update = sized.resize(minSize=0, maxSize=2, desiredSize=0)
    params = {param["type"]: param["value"] for param in update["params"]}
    assert params == {"MinSize": "0", "MaxSize": "2", "DesiredSize": "0"}
    assert (update["type"], update["status"], update["errors"]) == ("ConfigUpdate", "InProgress", [])
    parked = sized.describe()
    assert parked["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 0} and parked["status"] == "ACTIVE"
    assert parked["createdAt"] == before["createdAt"]
    assert update["createdAt"] > before["createdAt"] + timedelta(minutes=29)
    # Which moves by itself, and tells nothing of what anybody did.
    assert parked["modifiedAt"] < sized.describe()["modifiedAt"]
    assert not nodes and not sized.instances() and not sized.cloud.account.capacity.instances
    sized.resize(desiredSize=2)
    assert sized.describe()["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 2}
    known = {"AvailabilityZone": ZONE, "LifecycleState": "InService", "HealthStatus": "Healthy"}
    assert sized.instances() == [
        {"InstanceId": id, **known, "ProtectedFromScaleIn": False} for id in sized.cloud.account.capacity.instances
    ]
    assert len(nodes) == 2
    for node in nodes.values():
        assert node["metadata"]["labels"]["role"] == "gpu-worker"
        assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_a_wake_without_room_degrades_the_group_until_one_succeeds(sized: Sized, nodes: dict[str, Any]) -> None:
    sized.resize(desiredSize=0)
    control(sized.cloud, "POST", "capacity", zone=ZONE, instance_type=GPU, count=1)
    sized.resize(desiredSize=2)
    found = sized.describe()
    (issue,) = found["health"]["issues"]
    said = "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient"
    assert (found["status"], issue["code"]) == ("DEGRADED", "AsgInstanceLaunchFailures")
    assert issue["message"].startswith(said)
    assert found["scalingConfig"]["desiredSize"] == 2
    # Auto Scaling keeps the one that it got.
    assert len(nodes) == len(sized.instances()) == 1
    last = sized.scaling.describe_scaling_activities()["Activities"][0]
    assert (last["StatusCode"], last["StatusMessage"].startswith(said)) == ("Failed", True)
    assert "the desired capacity was 2" in last["Cause"]
    sized.resize(desiredSize=0)
    found = sized.describe()
    assert (found["status"], found["health"]["issues"], len(nodes)) == ("DEGRADED", [issue], 0)
    assert sized.cloud.account.capacity.free(ZONE, GPU) == 1
    control(sized.cloud, "POST", "capacity", zone=ZONE, instance_type=GPU, count=2)
    sized.resize(desiredSize=2)
    found = sized.describe()
    assert (found["status"], found["health"]["issues"], len(nodes)) == ("ACTIVE", [], 2)


def test_stack_updates_go_on_from_the_size_that_a_group_has(sized: Sized, nodes: dict[str, Any]) -> None:
    sized.resize(desiredSize=0)
    # What the template leaves as it was stays as it is.
    sized.stacks.update("sizes", sized.resources(Labels={"role": "gpu-worker", "more": "x"}))
    assert not nodes and sized.describe()["labels"]["more"] == "x"
    assert sized.describe()["scalingConfig"]["desiredSize"] == 0
    sized.resize(desiredSize=1)
    (first,) = nodes
    assert nodes[first]["metadata"]["labels"]["more"] == "x"
    sized.stacks.update("sizes", sized.resources(1, Labels={"role": "gpu-worker", "more": "x"}))
    assert list(nodes) == [first]
    created = sized.describe()["createdAt"]
    sized.stacks.update("sizes", sized.resources(2, Labels={"role": "gpu-worker", "more": "x"}))
    assert len(nodes) == 2 and first in nodes
    assert sized.describe()["createdAt"] == created


def test_sizes_are_refused_and_nothing_changes(sized: Sized, nodes: dict[str, Any]) -> None:
    before, running = sized.described(), set(nodes)
    # As whoever sends what botocore would not.
    unchecked = boto3.client(
        "eks",
        region_name="us-east-2",
        endpoint_url=sized.cloud.endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(proxies={}, parameter_validation=False),
    )

    def refusal(**fields: Any) -> str:
        with pytest.raises(ClientError) as caught:
            unchecked.update_nodegroup_config(**{**sized.names, **fields})
        return str(caught.value)

    def size(**sizes: Any) -> str:
        return refusal(scalingConfig=sizes)

    assert "(InvalidParameterException)" in size(desiredSize=3)
    assert "desired capacity 3 can't be greater than max size 2" in size(desiredSize=3)
    assert "Minimum capacity 2 can't be greater than desired size 1" in size(minSize=2, desiredSize=1)
    assert "MaxSize 0 must be at least 1" in size(minSize=0, desiredSize=0, maxSize=0)
    assert "MinSize -1 at least 0" in size(minSize=-1)
    assert "scalingConfig.desiredSize 'two': expected a whole number" in size(desiredSize="two")
    assert "expected some of minSize, maxSize, desiredSize" in size()
    assert "does not emulate ['labels']" in refusal(labels={"addOrUpdateLabels": {"a": "b"}})
    assert "does not emulate ['updateConfig']" in refusal(scalingConfig={"desiredSize": 1}, updateConfig={})
    assert "No node group found for name: none." in refusal(nodegroupName="none", scalingConfig={"desiredSize": 1})
    assert "No cluster found for name: none." in refusal(clusterName="none", scalingConfig={"desiredSize": 1})
    assert (sized.described(), set(nodes)) == (before, running)
    group = sized.cloud.account.eks.node_group(*sized.names.values())
    for status in ("UPDATING", "CREATE_FAILED"):
        group.description["status"] = status
        said = size(desiredSize=1)
        assert "(ResourceInUseException)" in said
        assert "Nodegroup cannot be updated as it is currently not in Active State" in said
    assert set(nodes) == running
