"""Mutants whose templates are changed."""

import json
from collections.abc import Mapping
from typing import Any

from tests.unit.checks.drafts import Draft, padded, values_of
from tests.unit.checks.mutant import mutant


def _chart(broken: Draft, release: str) -> Any:
    charts = broken.resources("Platform", "Custom::AWSCDK-EKS-HelmChart")
    return next(properties for properties in charts if properties["Release"] == release)


def _launch_template(broken: Draft) -> Any:
    return broken.resources("Gpu", "AWS::EC2::LaunchTemplate")[0]["LaunchTemplateData"]


def _drop(broken: Draft, stack: str, resource_type: str) -> None:
    resources = broken.templates[stack]["Resources"]
    for logical_id in [name for name, resource in resources.items() if resource["Type"] == resource_type]:
        del resources[logical_id]


def _monitoring(broken: Draft, values: Mapping[str, Any] | None) -> None:
    addons = broken.resources("Cluster", "AWS::EKS::Addon")
    (agent,) = [addon for addon in addons if addon["AddonName"] == "eks-node-monitoring-agent"]
    agent.pop("ConfigurationValues")
    if values is not None:
        agent["ConfigurationValues"] = json.dumps(values)


def _many(broken: Draft, section: str, count: int, entry: Mapping[str, Any]) -> None:
    broken.templates["Network"].setdefault(section, {}).update({f"Extra{i}": entry for i in range(count)})


TEMPLATES = (
    mutant(
        "reservation-target",
        "a reservation that no node uses",
        lambda broken: _launch_template(broken)["CapacityReservationSpecification"].clear(),
    ),
    mutant(
        "efa-plugin-type",
        "another type in the plugin's list",
        lambda broken: values_of(
            _chart(broken, "aws-efa-k8s-device-plugin"), {"supportedInstanceLabels": {"values": ["p5.48xlarge"]}}
        ),
    ),
    mutant(
        "efa-interfaces",
        "an ordinary interface",
        lambda broken: _launch_template(broken)["NetworkInterfaces"][0].update(InterfaceType="interface"),
    ),
    mutant(
        "efa-security-group",
        "no egress, as CDK drops it",
        lambda broken: _drop(broken, "Gpu", "AWS::EC2::SecurityGroupEgress"),
    ),
    mutant(
        "efa-security-group",
        "an interface without the stack's group",
        lambda broken: _launch_template(broken)["NetworkInterfaces"][0]["Groups"].pop(1),
    ),
    mutant(
        "efa-security-group",
        "an interface without the cluster's group",
        lambda broken: _launch_template(broken)["NetworkInterfaces"][0]["Groups"].pop(0),
    ),
    mutant("node-monitoring-toleration", "the add-on's defaults", lambda broken: _monitoring(broken, None)),
    mutant(
        "node-monitoring-toleration",
        "a toleration of something else",
        lambda broken: _monitoring(broken, {"dcgmAgent": {"tolerations": [{"key": "spot", "operator": "Exists"}]}}),
    ),
    mutant(
        "node-update",
        "an update that starts extra nodes",
        lambda broken: broken.resources("Gpu", "AWS::EKS::Nodegroup")[0]["UpdateConfig"].pop("UpdateStrategy"),
    ),
    mutant(
        "node-update",
        "an update that evicts",
        lambda broken: broken.resources("Gpu", "AWS::EKS::Nodegroup")[0].update(ForceUpdateEnabled=True),
    ),
    mutant(
        "subnet-room",
        "a subnet of 64",
        lambda broken: next(
            subnet for subnet in broken.resources("Network", "AWS::EC2::Subnet") if not subnet["MapPublicIpOnLaunch"]
        ).update(CidrBlock="10.0.32.0/26"),
    ),
    mutant(
        "helm-timeout", "15 minutes of helm", lambda broken: _chart(broken, "kuberay-operator").update(Timeout="900s")
    ),
    mutant(
        "wait-timeout",
        "15 minutes of waiting",
        lambda broken: broken.resources("Training", "Custom::AWSCDK-EKS-KubernetesObjectValue")[0].update(
            TimeoutSeconds=900
        ),
    ),
    mutant(
        "service-timeout",
        "an hour for an answer",
        lambda broken: _chart(broken, "kuberay-operator").pop("ServiceTimeout"),
    ),
    mutant("handler-payload", "values of 300 kB", lambda broken: padded(_chart(broken, "kuberay-operator"), 300_000)),
    mutant(
        "cfn-resources",
        "500 resources more",
        lambda broken: _many(broken, "Resources", 500, {"Type": "AWS::SNS::Topic"}),
    ),
    mutant(
        "cfn-size",
        "1 MB of metadata",
        lambda broken: broken.templates["Network"].update(Metadata={"Padding": "x" * 1_000_000}),
    ),
    mutant("cfn-outputs", "200 outputs more", lambda broken: _many(broken, "Outputs", 201, {"Value": "x"})),
    mutant(
        "cfn-names",
        "a logical id of 300",
        lambda broken: broken.templates["Network"]["Resources"].update({"x" * 300: {"Type": "AWS::SNS::Topic"}}),
    ),
)
