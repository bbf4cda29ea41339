"""Both node groups and their launch templates."""

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from tests.objects import all_pods
from tests.synthesis import ENVIRONMENTS, Template, new_app, only, resources, settings_with, synthesise, templates

NODEGROUP, LAUNCH_TEMPLATE = "AWS::EKS::Nodegroup", "AWS::EC2::LaunchTemplate"


def _gpu(environment: str = "dev") -> Template:
    return templates(environment)["Gpu"]


def _nodes() -> dict[str, Any]:
    return only(_gpu(), NODEGROUP)


def _launch(template: Template) -> dict[str, Any]:
    data: dict[str, Any] = only(template, LAUNCH_TEMPLATE)["LaunchTemplateData"]
    return data


def _security_group_id() -> dict[str, Any]:
    (logical_id,) = resources(_gpu(), "AWS::EC2::SecurityGroup")
    return {"Fn::GetAtt": [logical_id, "GroupId"]}


@pytest.mark.failure_mode("A1")
@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
def test_efa_security_group_allows_itself_both_ways(direction: str) -> None:
    rule = only(_gpu(), f"AWS::EC2::SecurityGroup{direction}")
    other = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}[direction]
    assert rule["IpProtocol"] == "-1"
    assert rule["GroupId"] == rule[other] == _security_group_id()


@pytest.mark.failure_mode("A2")
@pytest.mark.failure_mode("A4")
def test_the_interface_has_the_clusters_group_and_the_efa_group() -> None:
    (interface,) = _launch(_gpu())["NetworkInterfaces"]
    cluster_group, efa_group = interface["Groups"]
    assert "ClusterSecurityGroupId" in cluster_group["Fn::ImportValue"]
    assert efa_group == _security_group_id()


@pytest.mark.failure_mode("A3")
@pytest.mark.failure_mode("A5")
@pytest.mark.failure_mode("A7")
def test_groups_are_inside_the_efa_interface_only() -> None:
    data = _launch(_gpu())
    assert not {"SecurityGroupIds", "SecurityGroups"} & data.keys()
    (interface,) = data["NetworkInterfaces"]
    assert interface["InterfaceType"] == "efa"
    assert (interface["DeviceIndex"], interface["NetworkCardIndex"]) == (0, 0)
    assert "AssociatePublicIpAddress" not in interface
    assert not {"SubnetId", "IamInstanceProfile"} & (data.keys() | interface.keys())


@pytest.mark.failure_mode("A8")
@pytest.mark.failure_mode("A9")
def test_the_placement_group_is_the_reservations_too() -> None:
    assert "Placement" not in _launch(_gpu())
    template = _gpu("prod")
    (group,) = resources(template, "AWS::EC2::PlacementGroup")
    assert _launch(template)["Placement"] == {"GroupName": {"Ref": group}}
    arn = only(template, "Custom::GpuCapacityProbe")["PlacementGroupArn"]
    assert {"Ref": group} in arn["Fn::Join"][1]
    assert only(template, "AWS::EC2::PlacementGroup")["Strategy"] == "cluster"


@pytest.mark.failure_mode("C1")
def test_the_node_group_takes_the_probes_subnet() -> None:
    (probe,) = resources(_gpu(), "Custom::GpuCapacityProbe")
    assert _nodes()["Subnets"] == [{"Fn::GetAtt": [probe, "SubnetId"]}]


@pytest.mark.failure_mode("C1")
def test_selecting_subnets_by_a_token_would_yield_none() -> None:
    """Why the probe returns a subnet: CDK compares zone names at synthesis, and finds no match without an error."""
    stack = cdk.Stack(new_app(), "Stack")
    vpc = ec2.Vpc(stack, "Vpc", availability_zones=["us-east-2a"])
    token = cdk.Fn.get_att("Probe", "AvailabilityZone").to_string()
    assert vpc.select_subnets(availability_zones=[token]).subnet_ids == []


@pytest.mark.failure_mode("C2")
def test_a_failed_launch_rolls_back_the_gpu_stack_alone() -> None:
    for name, template in templates("dev").items():
        groups = resources(template, NODEGROUP).values()
        gpu = [group for group in groups if group["Properties"]["AmiType"] == "AL2023_x86_64_NVIDIA"]
        assert len(gpu) == (1 if name == "Gpu" else 0)


@pytest.mark.failure_mode("C11")
def test_no_node_group_has_a_name() -> None:
    for stack in ("Cluster", "Gpu"):
        assert "NodegroupName" not in only(templates("dev")[stack], NODEGROUP)


@pytest.mark.failure_mode("C13")
def test_updates_need_no_extra_node() -> None:
    assert _nodes()["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"}


@pytest.mark.failure_mode("C14")
def test_updates_honour_the_workers_disruption_budget() -> None:
    assert _nodes()["ForceUpdateEnabled"] is False


@pytest.mark.failure_mode("B10")
@pytest.mark.failure_mode("C15")
@pytest.mark.failure_mode("E6")
def test_each_node_group_has_its_own_ami_type() -> None:
    assert _nodes()["AmiType"] == "AL2023_x86_64_NVIDIA"
    assert only(templates("dev")["Cluster"], NODEGROUP)["AmiType"] == "AL2023_x86_64_STANDARD"


@pytest.mark.failure_mode("C16")
@pytest.mark.parametrize("count", [2, 3])
def test_size_is_fixed(count: int) -> None:
    stacks = synthesise(settings_with({"gpu_nodes.count": count}))
    assert only(stacks["Gpu"], NODEGROUP)["ScalingConfig"] == {"MinSize": count, "DesiredSize": count, "MaxSize": count}


@pytest.mark.failure_mode("C18")
@pytest.mark.parametrize("stack", ["Cluster", "Gpu"])
def test_disks_are_large_fast_and_encrypted(stack: str) -> None:
    (mapping,) = _launch(templates("dev")[stack])["BlockDeviceMappings"]
    disk = mapping["Ebs"]
    assert mapping["DeviceName"] == "/dev/xvda"
    assert disk["VolumeSize"] >= 200
    assert (disk["VolumeType"], disk["Encrypted"], disk["Throughput"]) == ("gp3", True, 500)
    assert "DiskSize" not in only(templates("dev")[stack], NODEGROUP)


@pytest.mark.failure_mode("C19")
@pytest.mark.parametrize("stack", ["Cluster", "Gpu"])
def test_pods_cannot_reach_the_nodes_credentials(stack: str) -> None:
    assert _launch(templates("dev")[stack])["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }


@pytest.mark.failure_mode("B7")
def test_the_ami_release_can_be_pinned() -> None:
    assert "ReleaseVersion" not in _nodes()
    stacks = synthesise(settings_with({"gpu_nodes.ami_release": "1.36.1-20261110"}))
    assert only(stacks["Gpu"], NODEGROUP)["ReleaseVersion"] == "1.36.1-20261110"


@pytest.mark.failure_mode("E5")
def test_labels_and_taint() -> None:
    nodes = _nodes()
    assert nodes["Labels"] == {"role": "gpu-worker", "nvidia.com/gpu.present": "true"}
    assert nodes["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "present", "Effect": "NO_SCHEDULE"}]
    assert only(templates("dev")["Cluster"], NODEGROUP)["Labels"] == {"role": "system"}


@pytest.mark.parametrize("stack", ["Cluster", "Gpu"])
def test_nodes_follow_the_clusters_version(stack: str) -> None:
    assert only(templates("dev")[stack], NODEGROUP)["Version"] == "1.36"


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (2, 1), (3, 1), (5, 2)])
def test_node_repair_goes_one_by_one_and_stops_where_most_are_broken(count: int, threshold: int) -> None:
    stacks = synthesise(
        settings_with({"gpu_nodes.count": count, "system_nodes.count": count, "training.require_transport": "none"})
    )
    for stack in ("Cluster", "Gpu"):
        assert only(stacks[stack], NODEGROUP)["NodeRepairConfig"] == {
            "Enabled": True,
            "MaxParallelNodesRepairedCount": 1,
            "MaxUnhealthyNodeThresholdCount": threshold,
        }


def test_the_taint_is_tolerated_by_what_runs_there_and_nothing_else() -> None:
    toleration = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    where = [(pod["nodeSelector"], pod.get("tolerations")) for pod in all_pods()]
    assert where.count(({"role": "gpu-worker"}, toleration)) == 3  # worker, fabric check, prefetch
    assert where.count(({"role": "system"}, None)) == 3  # head, submitter, prefetch
    assert len(where) == 6


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_nodes_are_on_demand_of_the_settings_type(environment: str) -> None:
    nodes = only(_gpu(environment), NODEGROUP)
    assert (nodes["CapacityType"], nodes["InstanceTypes"]) == ("ON_DEMAND", ["g6.12xlarge"])


_RESERVATION = {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"}


@pytest.mark.failure_mode("C5")
@pytest.mark.failure_mode("C8")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_nodes_are_launched_into_the_group_of_what_is_held(environment: str) -> None:
    (group,) = resources(_gpu(environment), "AWS::ResourceGroups::Group")
    arn = {"Fn::GetAtt": [group, "Arn"]}
    target = _launch(_gpu(environment))["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationResourceGroupArn": arn}
    assert only(_gpu(environment), "Custom::GpuCapacityProbe")["GroupArn"] == arn


@pytest.mark.failure_mode("C8")
def test_nodes_are_launched_into_the_reservation_that_is_named() -> None:
    gpu = synthesise(settings_with({"capacity": _RESERVATION}))["Gpu"]
    target = _launch(gpu)["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationId": "cr-0123456789abcdef0"}
    assert "InstanceMarketOptions" not in _launch(gpu)
    assert only(gpu, NODEGROUP)["CapacityType"] == "ON_DEMAND"


def test_a_capacity_block_is_a_market_of_its_own() -> None:
    """EKS wants market and type in the launch template, and refuses a type in both places."""
    block = {"capacity": _RESERVATION | {"reservation_type": "capacity-block"}}
    gpu = synthesise(settings_with({"gpu_nodes.instance_type": "p5.48xlarge", **block}))["Gpu"]
    launch, nodes = _launch(gpu), only(gpu, NODEGROUP)
    assert (launch["InstanceMarketOptions"], launch["InstanceType"]) == (
        {"MarketType": "capacity-block"},
        "p5.48xlarge",
    )
    assert launch["CapacityReservationSpecification"]["CapacityReservationTarget"] == {
        "CapacityReservationId": "cr-0123456789abcdef0"
    }
    assert nodes["CapacityType"] == "CAPACITY_BLOCK"
    assert "InstanceTypes" not in nodes


@pytest.mark.failure_mode("C8")
@pytest.mark.parametrize("mode", ["probe", "offerings", "zone"])
def test_other_modes_target_nothing_at_all(mode: str) -> None:
    zone = {"zone": "us-east-2a"} if mode == "zone" else {}
    launch = _launch(synthesise(settings_with({"capacity": {"mode": mode} | zone}))["Gpu"])
    assert "CapacityReservationSpecification" not in launch


@pytest.mark.failure_mode("C17")
def test_the_probe_is_told_the_quota() -> None:
    probe = only(_gpu(), "Custom::GpuCapacityProbe")
    assert (probe["QuotaCode"], probe["VcpusPerInstance"], probe["Count"]) == ("L-DB2E81BA", "48", "2")
    assert probe["QuotaFamilies"] == ["g", "vt"]


def test_a_fixed_zone() -> None:
    stacks = synthesise(settings_with({"capacity": {"mode": "zone", "zone": "us-east-2b"}}))
    probe = only(stacks["Gpu"], "Custom::GpuCapacityProbe")
    assert (probe["Mode"], probe["Zone"]) == ("zone", "us-east-2b")


@pytest.mark.failure_mode("C12")
def test_only_the_force_token_asks_for_another_zone() -> None:
    unforced, forced = _gpu(), synthesise(settings_with({"capacity.force_token": "again"}))["Gpu"]
    before, after = (only(template, "Custom::GpuCapacityProbe") for template in (unforced, forced))
    assert after == {**before, "ForceToken": "again"}
    # Nothing in the properties changes from one deploy to the next by itself.
    assert json.dumps(before) == json.dumps(only(synthesise(settings_with({}))["Gpu"], "Custom::GpuCapacityProbe"))
