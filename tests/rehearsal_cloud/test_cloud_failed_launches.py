"""What is left of a node group for which there was no room: EKS's words, and Auto Scaling's history."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import (
    GPU,
    Stacks,
    caller,
    control,
    group_properties,
    reservation_request,
    template,
)

ZONE = "us-east-2a"
SAID = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
    "g6.12xlarge capacity in the Availability Zone you requested (us-east-2a)."
)


@pytest.fixture
def group(network: dict[str, str], cluster: dict[str, str]) -> dict[str, Any]:
    sizes = {"DesiredSize": 2, "MaxSize": 2, "MinSize": 2}
    properties = group_properties(network, cluster, ScalingConfig=sizes)
    return {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}}


def full(cloud: Cloud) -> None:
    control(cloud, "POST", "capacity", zone=ZONE, instance_type=GPU, count=1)


def test_no_room_rolls_the_stack_back_in_the_words_of_eks(
    room: Cloud, stacks: Stacks, group: dict[str, Any], nodes: dict[str, Any]
) -> None:
    full(room)
    stacks.create_badly("full", group)
    reason = stacks.reason("full", "Nodes")
    assert "[Issue(Code=AsgInstanceLaunchFailures, Message=" + SAID in reason
    assert stacks.done("full", "DELETE_COMPLETE") == ["Nodes"]
    assert not nodes and room.account.capacity.free(ZONE, GPU) == 1
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        physical = stacks.api.describe_stack_events(StackName="full")["StackEvents"]
        name = next(event["PhysicalResourceId"] for event in physical if event["LogicalResourceId"] == "Nodes")
        caller(room, "eks").describe_nodegroup(clusterName="shared", nodegroupName=name.split("/")[1])
    stacks.delete("full")


def test_the_last_error_outlives_the_node_group(room: Cloud, stacks: Stacks, group: dict[str, Any]) -> None:
    full(room)
    stacks.create_badly("history", group)
    scaling = caller(room, "autoscaling")
    activities = scaling.describe_scaling_activities(IncludeDeletedGroups=True)["Activities"]
    failed = next(item for item in activities if item["StatusCode"] == "Failed")
    name = failed["AutoScalingGroupName"]
    assert name.startswith("eks-history-Nodes-") and failed["AutoScalingGroupState"] == "Deleted"
    assert failed["StatusMessage"].startswith(SAID)
    assert failed["StatusMessage"].endswith("Launching EC2 instance failed.")
    assert name not in {item["AutoScalingGroupName"] for item in scaling.describe_scaling_activities()["Activities"]}
    by_name = scaling.describe_scaling_activities(AutoScalingGroupName=name, IncludeDeletedGroups=True, MaxRecords=1)
    assert len(by_name["Activities"]) == 1 and by_name["NextToken"]
    with pytest.raises(ClientError, match="AutoScalingGroup name not found"):
        scaling.describe_scaling_activities(AutoScalingGroupName=name)
    stacks.delete("history")


def test_without_a_rollback_the_node_group_says_what_is_wrong(
    room: Cloud, stacks: Stacks, group: dict[str, Any], nodes: dict[str, Any]
) -> None:
    full(room)
    stacks.api.create_stack(StackName="stays", TemplateBody=template(group), DisableRollback=True)
    stacks.wait("stays", "CREATE_FAILED")
    (resource,) = stacks.api.list_stack_resources(StackName="stays")["StackResourceSummaries"]
    cluster, name = resource["PhysicalResourceId"].split("/")
    eks = caller(room, "eks")
    found = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
    (issue,) = found["health"]["issues"]
    (scaling,) = found["resources"]["autoScalingGroups"]
    assert (found["status"], issue["code"]) == ("CREATE_FAILED", "AsgInstanceLaunchFailures")
    assert issue["message"].startswith(SAID) and issue["resourceIds"] == [scaling["name"]]
    assert scaling["name"].startswith(f"eks-{name}-")
    control(room, "POST", "capacity", zone=ZONE, instance_type=GPU, count=2)
    # Another try makes it anew, and the one that failed is gone.
    stacks.update(
        "stays", {**group, "More": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}}
    )
    assert len(nodes) == 2
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)
    (alive,) = caller(room, "autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert (alive["DesiredCapacity"], alive["AutoScalingGroupName"] != scaling["name"]) == (2, True)
    stacks.delete("stays")


def test_a_replacement_without_room_leaves_the_nodes_that_there_are(
    room: Cloud, stacks: Stacks, group: dict[str, Any], network: dict[str, str], nodes: dict[str, Any]
) -> None:
    stacks.create("moves", group)
    before = set(nodes)
    control(room, "POST", "capacity", zone="us-east-2b", instance_type=GPU, count=1)
    moved = {**group["Nodes"]["Properties"], "Subnets": [network["SubnetB"]]}
    stacks.update_badly("moves", {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": moved}})
    assert "us-east-2b" in stacks.reason("moves", "Nodes", "UPDATE_FAILED")
    assert set(nodes) == before and len(before) == 2
    assert len(room.account.eks.cluster("shared").node_groups) == 1
    stacks.delete("moves")
    assert not room.account.eks.cluster("shared").node_groups


def test_a_launch_beyond_the_quota_fails_by_name(room: Cloud, stacks: Stacks, group: dict[str, Any]) -> None:
    control(room, "POST", "quota", code="L-DB2E81BA", vcpus=48)
    stacks.create_badly("quota", group)
    assert "VcpuLimitExceeded - You have requested more vCPU capacity" in stacks.reason("quota", "Nodes")
    assert "current vCPU limit of 48" in stacks.reason("quota", "Nodes")
    stacks.delete("quota")


def test_capacity_vanishes_between_the_probe_and_the_launch(room: Cloud, stacks: Stacks, group: dict[str, Any]) -> None:
    ec2 = caller(room, "ec2")
    control(room, "POST", "capacity", zone=ZONE, instance_type=GPU, count=2)
    about = {"zone": ZONE, "instance_type": GPU}
    control(room, "POST", "capacity/vanish", **about, after="CancelCapacityReservation")
    elsewhere = ec2.create_capacity_reservation(**reservation_request("us-east-2b", "other"))["CapacityReservation"]
    ec2.cancel_capacity_reservation(CapacityReservationId=elsewhere["CapacityReservationId"])
    made = ec2.create_capacity_reservation(**reservation_request(ZONE, "probe"))["CapacityReservation"]
    assert made["State"] == "active"
    ec2.cancel_capacity_reservation(CapacityReservationId=made["CapacityReservationId"])
    assert room.account.capacity.free(ZONE, GPU) == 0
    stacks.create_badly("vanished", group)
    assert SAID in stacks.reason("vanished", "Nodes")
    stacks.delete("vanished")
    with pytest.raises(AssertionError, match="after 'DescribeInstances': expected one of CancelCapacityReservation"):
        control(room, "POST", "capacity/vanish", **about, after="DescribeInstances")
