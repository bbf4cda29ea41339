"""The VPC."""

import json

import pytest

from tests.synthesis import only, resources, templates


def test_zones_are_the_settings_and_need_no_lookup() -> None:
    zones = [
        subnet["Properties"]["AvailabilityZone"]
        for subnet in resources(templates("dev")["Network"], "AWS::EC2::Subnet").values()
    ]
    assert sorted(zones) == sorted(2 * ["us-east-2a", "us-east-2b", "us-east-2c"])
    assert "Fn::GetAZs" not in json.dumps(templates("dev")["Network"])


@pytest.mark.parametrize(("environment", "gateways"), [("dev", 1), ("prod", 3)])
def test_nat_gateways(environment: str, gateways: int) -> None:
    assert len(resources(templates(environment)["Network"], "AWS::EC2::NatGateway")) == gateways


def test_s3_does_not_go_through_nat() -> None:
    endpoint = only(templates("dev")["Network"], "AWS::EC2::VPCEndpoint")
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert endpoint["ServiceName"]["Fn::Join"][1][-1] == ".s3"
    assert len(endpoint["RouteTableIds"]) == 6


def test_flow_logs_of_all_traffic_are_kept_a_month() -> None:
    template = templates("dev")["Network"]
    assert only(template, "AWS::EC2::FlowLog")["TrafficType"] == "ALL"
    assert only(template, "AWS::Logs::LogGroup")["RetentionInDays"] == 30


def test_the_default_security_group_is_closed() -> None:
    assert len(resources(templates("dev")["Network"], "Custom::VpcRestrictDefaultSG")) == 1


@pytest.mark.failure_mode("D25")
def test_the_cluster_spans_every_zone_that_the_probe_may_choose() -> None:
    cluster = only(templates("dev")["Cluster"], "AWS::EKS::Cluster")
    probe = only(templates("dev")["Gpu"], "Custom::GpuCapacityProbe")
    subnets = [json.dumps(subnet) for subnet in cluster["ResourcesVpcConfig"]["SubnetIds"]]
    assert len(subnets) == 3
    assert sorted(json.dumps(subnet) for subnet in probe["SubnetsByZone"].values()) == sorted(subnets)
