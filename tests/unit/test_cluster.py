"""What cdk-nag cannot see: its EKS rules match the older aws_eks clusters only."""

import json
from typing import Any

import pytest

from app import build
from environments.loading import load
from tests.synthesis import CODE, ENVIRONMENTS, new_app, only, resources, settings_with, synthesise, templates

CLUSTER = "AWS::EKS::Cluster"


def _cluster(environment: str = "dev") -> dict[str, Any]:
    return only(templates(environment)["Cluster"], CLUSTER)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_all_control_plane_logs(environment: str) -> None:
    types = _cluster(environment)["Logging"]["ClusterLogging"]["EnabledTypes"]
    assert [entry["Type"] for entry in types] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]


def test_logs_end_with_the_stack_and_do_not_hinder_the_next() -> None:
    """Not an AWS::Logs::LogGroup: EKS makes the group anew while it is deleted, and creating it then would fail."""
    template = templates("dev")["Cluster"]
    retention = only(template, "Custom::LogRetention")
    assert retention["LogGroupName"] == "/aws/eks/ray-train-dev/cluster"
    assert (retention["RetentionInDays"], retention["RemovalPolicy"]) == (30, "destroy")
    names = [group["Properties"].get("LogGroupName") for group in resources(template, "AWS::Logs::LogGroup").values()]
    assert "/aws/eks/ray-train-dev/cluster" not in names


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_secrets_are_encrypted_with_a_rotated_key(environment: str) -> None:
    (config,) = _cluster(environment)["EncryptionConfig"]
    key = only(templates(environment)["Cluster"], "AWS::KMS::Key")
    (logical_id,) = resources(templates(environment)["Cluster"], "AWS::KMS::Key")
    assert config == {"Provider": {"KeyArn": {"Fn::GetAtt": [logical_id, "Arn"]}}, "Resources": ["secrets"]}
    assert key["EnableKeyRotation"] is True


def test_the_endpoint_is_private_without_networks() -> None:
    config = _cluster()["ResourcesVpcConfig"]
    assert (config["EndpointPrivateAccess"], config["EndpointPublicAccess"]) == (True, False)


def test_the_endpoint_is_open_to_the_given_networks_alone() -> None:
    stacks = synthesise(settings_with({"cluster.public_endpoint_cidrs": ["8.8.8.0/24"]}))
    config = only(stacks["Cluster"], CLUSTER)["ResourcesVpcConfig"]
    assert (config["EndpointPrivateAccess"], config["EndpointPublicAccess"]) == (True, True)
    assert config["PublicAccessCidrs"] == ["8.8.8.0/24"]


@pytest.mark.failure_mode("D21")
def test_access_is_by_explicit_entries_alone() -> None:
    config = _cluster()["AccessConfig"]
    assert config == {"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": False}
    entries = resources(templates("dev")["Cluster"], "AWS::EKS::AccessEntry")
    principals = [entry["Properties"]["PrincipalArn"]["Fn::GetAtt"][0] for entry in entries.values()]
    assert len(principals) == 2
    assert any("KubectlProvider" in principal for principal in principals)
    assert any("AdminRole" in principal for principal in principals)


@pytest.mark.failure_mode("D21")
def test_a_principal_listed_twice_gets_one_entry() -> None:
    principal = "arn:aws:iam::111122223333:role/Admin"
    stacks = synthesise(settings_with({"cluster.admin_principals": [principal, principal]}))
    entries = resources(stacks["Cluster"], "AWS::EKS::AccessEntry")
    assert [entry["Properties"]["PrincipalArn"] for entry in entries.values()].count(principal) == 1


@pytest.mark.failure_mode("D15")
def test_no_auto_mode() -> None:
    cluster = _cluster()
    assert cluster["ComputeConfig"] == {"Enabled": False}
    assert cluster["StorageConfig"] == {"BlockStorage": {"Enabled": False}}


@pytest.mark.failure_mode("H3")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_extended_support(environment: str) -> None:
    assert _cluster(environment)["UpgradePolicy"] == {"SupportType": "STANDARD"}


def test_version() -> None:
    assert _cluster()["Version"] == "1.36"


@pytest.mark.failure_mode("D6")
def test_the_kubectl_layer_follows_the_version() -> None:
    layers = resources(templates("dev")["Cluster"], "AWS::Lambda::LayerVersion")
    descriptions = json.dumps([layer["Properties"] for layer in layers.values()])
    assert "1.36" in descriptions or "v36" in descriptions


@pytest.mark.failure_mode("D10")
def test_one_kubectl_provider_serves_every_stack() -> None:
    stacks = templates("dev")
    handlers = [
        function
        for function in resources(stacks["Cluster"], "AWS::Lambda::Function").values()
        if "kubectl" in function["Properties"].get("Description", "")
    ]
    assert handlers
    tokens = {
        json.dumps(resource["Properties"]["ServiceToken"])
        for name in ("Gpu", "Platform", "Training")
        for resource in stacks[name]["Resources"].values()
        if resource["Type"].startswith("Custom::AWSCDK-EKS-")
    }
    assert len(tokens) == 1
    assert "ClusterKubectlProvider" in tokens.pop()


def test_the_kubectl_handler_is_in_the_private_subnets() -> None:
    template = templates("dev")["Cluster"]
    functions = [f for name, f in resources(template, "AWS::Lambda::Function").items() if "KubectlProvider" in name]
    assert len(functions) == 2
    assert all(len(function["Properties"]["VpcConfig"]["SubnetIds"]) == 3 for function in functions)


def test_add_ons() -> None:
    addons = {
        addon["Properties"]["AddonName"]: addon
        for addon in resources(templates("dev")["Cluster"], "AWS::EKS::Addon").values()
    }
    assert sorted(addons) == [
        "coredns",
        "eks-node-monitoring-agent",
        "eks-pod-identity-agent",
        "kube-proxy",
        "vpc-cni",
    ]
    assert json.loads(addons["vpc-cni"]["Properties"]["ConfigurationValues"]) == {"enableNetworkPolicy": "true"}
    # The names are those of the add-on's own configuration schema.
    assert json.loads(addons["eks-node-monitoring-agent"]["Properties"]["ConfigurationValues"]) == {
        "dcgmAgent": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}
    }
    (nodes,) = resources(templates("dev")["Cluster"], "AWS::EKS::Nodegroup")
    assert nodes in addons["coredns"]["DependsOn"]


def test_network_policies_are_in_force_before_the_first_node() -> None:
    template = templates("dev")["Cluster"]
    (nodes,) = resources(template, "AWS::EKS::Nodegroup").values()
    before = {template["Resources"][key]["Properties"].get("AddonName") for key in nodes["DependsOn"]}
    assert before >= {"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "eks-node-monitoring-agent"}


def test_termination_protection() -> None:
    for environment, protected in (("dev", False), ("prod", True)):
        stacks = build(new_app(), load(environment), CODE)
        assert {stack.termination_protection for stack in stacks} == {protected}
