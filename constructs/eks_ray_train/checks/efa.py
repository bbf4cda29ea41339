"""What has to be right on the GPU nodes for EFA, which reports next to nothing when it is not.

EFA is the network card with which GPU nodes exchange tensors. Sources: EC2 user guide, "EFA security groups"; the EFA
device plugin's chart.
"""

import json
from collections.abc import Iterator
from typing import Any

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

_STACK = "Gpu"


@rule("efa-plugin-type", "the EFA device plugin runs on the nodes' instance type", phase=Phase.TEMPLATES)
def plugin_knows_the_type(subject: Subject) -> Iterator[Problem]:
    """On a type that its list lacks it runs nowhere, and no event says so."""
    wanted = subject.settings.gpu_nodes.instance_type
    for _, _, properties in subject.resources("Custom::AWSCDK-EKS-HelmChart"):
        if properties["Release"] == "aws-efa-k8s-device-plugin":
            types = json.loads(properties["Values"]).get("supportedInstanceLabels", {}).get("values", [])
            if wanted not in types:
                yield Problem(
                    field="Platform: aws-efa-k8s-device-plugin: supportedInstanceLabels.values",
                    value=types,
                    expected=f"a list with {wanted}: without it the plugin starts no pod, and no node offers EFA",
                    remedy="pass gpu_nodes.instance_type in constructs/eks_ray_train/device_plugins.py",
                )


@rule("efa-interfaces", "GPU nodes start with all EFA interfaces that the type has", phase=Phase.TEMPLATES)
def interfaces_are_all_there(subject: Subject) -> Iterator[Problem]:
    """None can be added to a running node."""
    node = subject.settings.gpu_nodes.instance
    count = sum(interface.get("InterfaceType", "").startswith("efa") for interface in _interfaces(subject))
    if count != node.efa_interfaces and _STACK in subject.templates:
        yield Problem(
            field="Gpu: launch template: NetworkInterfaces",
            value=f"{count} with EFA",
            expected=f"{node.efa_interfaces}, all that a {node.name} has",
            remedy="derive them from the instance table",
        )


@rule("efa-security-group", "GPU nodes may send EFA traffic to one another, and receive it", phase=Phase.TEMPLATES)
def security_group_allows_itself(subject: Subject) -> Iterator[Problem]:
    """EFA's traffic is matched by group ids alone: a rule for 0.0.0.0/0 does not carry it."""
    groups = {logical_id for stack, logical_id, _ in subject.resources("AWS::EC2::SecurityGroup") if stack == _STACK}
    for direction, peer in (("Ingress", "SourceSecurityGroupId"), ("Egress", "DestinationSecurityGroupId")):
        allowed = {
            _group(properties["GroupId"])
            for stack, _, properties in subject.resources(f"AWS::EC2::SecurityGroup{direction}")
            if stack == _STACK and properties["IpProtocol"] == "-1" and properties.get(peer) == properties["GroupId"]
        }
        if groups and not groups & allowed:
            yield Problem(
                field=f"Gpu: security group: {direction.lower()}",
                value="none that names the group itself",
                expected='all traffic of the group to itself: otherwise EFA says "Unresponsive receiver"',
                remedy="restore it in constructs/eks_ray_train/gpu_node_group.py",
            )
    for interface in _interfaces(subject):
        own = [_group(reference) in groups for reference in interface.get("Groups", [])]
        if all(own) or not any(own):
            yield Problem(
                field=f"Gpu: launch template: NetworkInterfaces: card {interface['NetworkCardIndex']}: Groups",
                value=interface.get("Groups", []),
                expected="the stack's own group, which carries EFA between the nodes, and the cluster's, which lets "
                "the node join: EKS adds none to a template that names interfaces",
                remedy="restore both in constructs/eks_ray_train/gpu_node_group.py",
            )


@rule("node-update", "an update of the GPU nodes starts no extra ones and evicts no training", phase=Phase.TEMPLATES)
def updates_are_gentle(subject: Subject) -> Iterator[Problem]:
    """Extra nodes would need capacity and quota twice."""
    for stack, _, properties in subject.resources("AWS::EKS::Nodegroup"):
        if stack != _STACK:
            continue
        strategy = properties.get("UpdateConfig", {}).get("UpdateStrategy")
        if strategy != "MINIMAL" or properties.get("ForceUpdateEnabled") is not False:
            yield Problem(
                field="Gpu: node group: UpdateConfig.UpdateStrategy, ForceUpdateEnabled",
                value=f"{strategy}, {properties.get('ForceUpdateEnabled')}",
                expected="MINIMAL, False: else an update starts nodes beside the old ones, which neither quota nor "
                "reservation has room for, or ends a run of hours",
                remedy="restore both in constructs/eks_ray_train/gpu_node_group.py",
            )


def _interfaces(subject: Subject) -> Iterator[Any]:
    for stack, _, properties in subject.resources("AWS::EC2::LaunchTemplate"):
        if stack == _STACK:
            yield from properties["LaunchTemplateData"].get("NetworkInterfaces", [])


def _group(reference: Any) -> str:
    return str(reference["Fn::GetAtt"][0]) if isinstance(reference, dict) and "Fn::GetAtt" in reference else ""
