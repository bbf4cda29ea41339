"""What EKS refuses, and the nodes that it makes."""

import json
from typing import Any

import pytest

from rehearsal.cloud.inventory import inventory
from tests.rehearsal_cloud.cloud_stacks import (
    SMALL,
    Properties,
    Stacks,
    cluster_properties,
    group_properties,
    node_group,
)


def efa(*groups: str) -> Properties:
    return {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa", "Groups": list(groups)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Subnets": ["subnet-0123456789abcdef0"]}, "subnet-0123456789abcdef0"),
        ({"Taints": [{"Effect": "NoSchedule", "Key": "k"}]}, "at 'taints.1.member.effect'"),
        ({"InstanceTypes": ["m7i.xlarge"]}, "not a valid instance type for requested amiType AL2023_x86_64_NVIDIA"),
        ({"InstanceTypes": ["x99.huge"]}, "do not exist"),
        ({"AmiType": "AL2023_NVIDIA"}, "AmiType AL2023_NVIDIA"),
        ({"ScalingConfig": {**SMALL, "MinSize": 2}}, "Minimum capacity 2 can't be greater than desired size 1"),
        ({"ScalingConfig": {**SMALL, "DesiredSize": 2}}, "desired capacity 2 can't be greater than max size 1"),
        ({"Version": "1.37"}, "Requested Nodegroup version 1.37"),
        ({"ClusterName": "nowhere"}, "No cluster found for name: nowhere"),
        ({"NodeRole": "arn:aws:iam::123456789012:role/nobody"}, "nobody"),
    ],
)
def test_a_node_group_is_refused(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], changes: Properties, reason: str
) -> None:
    name = f"group-{abs(hash(json.dumps(changes)))}"
    properties = group_properties(network, cluster, **changes)
    stack = stacks.create_badly(name, {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}})
    assert reason in stacks.reason(name, "Nodes")
    assert "[Nodes]" in stack["StackStatusReason"]


def test_nodes_do_not_join_without_the_roles_policy(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str]
) -> None:
    properties = group_properties(network, cluster, NodeRole=network["PlainRole"])
    stacks.create_badly("policy", {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}})
    assert "NodeCreationFailure: Instances failed to join" in stacks.reason("policy", "Nodes")


@pytest.mark.parametrize(
    ("subnets", "data", "reason"),
    [
        (("SubnetA", "SubnetB"), {"NetworkInterfaces": [efa("CLUSTER")]}, "EFA needs subnets of one Availability Zone"),
        (("SubnetA",), {"NetworkInterfaces": [efa("OWN")]}, "NodeCreationFailure: Instances failed to join"),
        (("SubnetA",), {"SecurityGroupIds": ["OWN"]}, "NodeCreationFailure: Instances failed to join"),
        (
            ("SubnetA",),
            {"SecurityGroupIds": ["CLUSTER"], "NetworkInterfaces": [efa("CLUSTER")]},
            "instance-level security groups may not be specified",
        ),
        (("SubnetA",), {"NetworkInterfaces": [efa("CLUSTER"), efa("CLUSTER")]}, "has 1 EFA interfaces"),
        (("SubnetA",), {"InstanceType": "g6.12xlarge"}, "in both the node group and the launch template"),
        (("SubnetA",), {"Placement": {"GroupName": "nowhere"}}, "The placement group 'nowhere' is unknown"),
    ],
)
def test_a_launch_template_is_refused(
    stacks: Stacks,
    network: dict[str, str],
    cluster: dict[str, str],
    subnets: tuple[str, ...],
    data: Properties,
    reason: str,
) -> None:
    text = json.dumps(data).replace("CLUSTER", cluster["Group"]).replace("OWN", network["EfaGroup"])
    group = group_properties(network, cluster, Subnets=[network[name] for name in subnets])
    name = f"template-{abs(hash((text, subnets)))}"
    stacks.create_badly(name, node_group(group, json.loads(text)))
    assert reason in stacks.reason(name, "Nodes")


def test_a_node_group_makes_nodes_and_takes_them_along(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], nodes: dict[str, dict[str, Any]]
) -> None:
    group = group_properties(network, cluster, ScalingConfig={"DesiredSize": 2, "MaxSize": 2, "MinSize": 2})
    data = {"NetworkInterfaces": [efa(cluster["Group"], network["EfaGroup"])]}
    stacks.create("nodes", node_group(group, data))
    assert len(nodes) == 2
    node = next(iter(nodes.values()))
    labels = node["metadata"]["labels"]
    assert labels["role"] == "gpu-worker"
    assert labels["topology.kubernetes.io/zone"] == "us-east-2a"
    assert labels["node.kubernetes.io/instance-type"] == "g6.12xlarge"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    devices = json.loads(node["metadata"]["annotations"]["rehearsal/devices"])
    assert devices == {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}
    assert node["status"]["capacity"]["cpu"] == "48" and node["status"]["allocatable"]["cpu"] == "47810m"
    stacks.delete("nodes")
    assert not nodes


def test_interfaces_of_many_cards_share_their_security_groups(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], nodes: dict[str, dict[str, Any]]
) -> None:
    shared = efa(cluster["Group"], network["EfaGroup"])
    cards = [shared, *({**shared, "NetworkCardIndex": card, "DeviceIndex": 1} for card in range(1, 4))]
    group = group_properties(network, cluster, InstanceTypes=["p4d.24xlarge"])
    stacks.create("cards", node_group(group, {"NetworkInterfaces": cards}))
    (node,) = nodes.values()
    assert json.loads(node["metadata"]["annotations"]["rehearsal/devices"]) == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "4",
    }
    stacks.delete("cards")


def test_another_subnet_replaces_the_group(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], nodes: dict[str, dict[str, Any]]
) -> None:
    def resources(subnet: str, label: str) -> dict[str, Any]:
        properties = group_properties(network, cluster, Subnets=[network[subnet]], Labels={"role": label})
        return {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}}

    def group() -> str:
        (found,) = stacks.api.list_stack_resources(StackName="moved")["StackResourceSummaries"]
        return str(found["PhysicalResourceId"])

    stacks.create("moved", resources("SubnetA", "one"))
    first = group()
    stacks.update("moved", resources("SubnetA", "two"))
    assert group() == first
    assert [node["metadata"]["labels"]["role"] for node in nodes.values()] == ["two"]
    stacks.update("moved", resources("SubnetB", "two"))
    assert group() != first
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes.values()]
    assert zones == ["us-east-2b"]
    stacks.delete("moved")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Version": "1.31"}, "unsupported Kubernetes version 1.31"),
        ({"Name": "shared"}, "Cluster already exists with name: shared"),
        ({"RoleArn": "PlainRole"}, "AmazonEKSClusterPolicy"),
        ({"ResourcesVpcConfig": {"SubnetIds": ["SubnetA"]}}, "at least two different AZs"),
        (
            {
                "ResourcesVpcConfig": {
                    "SubnetIds": ["SubnetA", "SubnetB"],
                    "EndpointPublicAccess": False,
                    "EndpointPrivateAccess": False,
                }
            },
            "endpoint access cannot be false",
        ),
        ({"ComputeConfig": {"Enabled": True}}, "must be enabled or disabled together"),
        ({"Logging": {"ClusterLogging": {"EnabledTypes": [{"Type": "apis"}]}}}, "unknown log types ['apis']"),
    ],
)
def test_a_cluster_is_refused(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], changes: Properties, reason: str
) -> None:
    text = json.dumps({**cluster_properties(network, "other"), **changes})
    for key, value in network.items():
        text = text.replace(f'"{key}"', f'"{value}"')
    name = f"cluster-{abs(hash(text))}"
    stacks.create_badly(name, {"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": json.loads(text)}})
    assert reason in stacks.reason(name, "Cluster")


def test_one_principal_has_one_access_entry(stacks: Stacks, cluster: dict[str, str]) -> None:
    entry = {
        "Type": "AWS::EKS::AccessEntry",
        "Properties": {"ClusterName": cluster["Name"], "PrincipalArn": "arn:aws:iam::123456789012:role/twice"},
    }
    stacks.create_badly("twice", {"One": entry, "Two": {**entry, "DependsOn": "One"}})
    assert "already in use on this cluster" in stacks.reason("twice", "Two")


def test_coredns_needs_nodes(stacks: Stacks, cluster: dict[str, str]) -> None:
    properties = {"AddonName": "coredns", "ClusterName": cluster["Name"]}
    stacks.create_badly("dns", {"Dns": {"Type": "AWS::EKS::Addon", "Properties": properties}})
    assert "InsufficientNumberOfReplicas" in stacks.reason("dns", "Dns")


def test_pods_must_be_able_to_assume_the_role(stacks: Stacks, network: dict[str, str], cluster: dict[str, str]) -> None:
    properties = {
        "ClusterName": cluster["Name"],
        "Namespace": "n",
        "ServiceAccount": "s",
        "RoleArn": network["PlainRole"],
    }
    stacks.create_badly("pods", {"Identity": {"Type": "AWS::EKS::PodIdentityAssociation", "Properties": properties}})
    assert "pods.eks.amazonaws.com" in stacks.reason("pods", "Identity")


def test_the_inventory_names_what_there_is(stacks: Stacks, cluster: dict[str, str]) -> None:
    found = inventory(stacks.cloud.account)
    assert found["cluster"] == ["shared"]
    assert "node" not in found
