"""Changing the instance type gives an environment that passes the checks, with interfaces that EC2 allows."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from eks_ray_train.instance_types import INSTANCE_TYPES
from tests.synthesis import CODE, Template, manifests, only, resources, settings_with, synthesise
from tests.unit.instance_types.ec2 import GPU_TYPES, network


@cache
def _stacks(instance_type: str) -> dict[str, Template]:
    return synthesise(settings_with({"gpu_nodes.instance_type": instance_type}), CODE)


def _interfaces(instance_type: str) -> list[dict[str, Any]]:
    data = only(_stacks(instance_type)["Gpu"], "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    found: list[dict[str, Any]] = data["NetworkInterfaces"]
    return found


@pytest.mark.parametrize("name", GPU_TYPES)
def test_ec2_has_every_interface_that_the_launch_template_names(name: str) -> None:
    cards = {card["NetworkCardIndex"]: card for card in network(name)["NetworkCards"]}
    places = [(entry["NetworkCardIndex"], entry["DeviceIndex"]) for entry in _interfaces(name)]
    assert len(set(places)) == len(places)
    for entry in _interfaces(name):
        card = cards[entry["NetworkCardIndex"]]
        assert entry["InterfaceType"] in card["InterfaceTypes"]
        assert 0 <= entry["DeviceIndex"] < card["MaximumNetworkInterfaces"]


@pytest.mark.parametrize("name", GPU_TYPES)
def test_the_launch_template_uses_every_efa_interface_and_one_address(name: str) -> None:
    efa = [entry for entry in _interfaces(name) if entry["InterfaceType"].startswith("efa")]
    assert len(efa) == network(name)["EfaInfo"]["MaximumEfaInterfaces"]
    assert max(Counter(entry["NetworkCardIndex"] for entry in efa).values()) == 1
    primary, *others = _interfaces(name)
    default = network(name)["DefaultNetworkCardIndex"]
    assert (primary["NetworkCardIndex"], primary["DeviceIndex"]) == (default, 0)
    # An EFA-only interface has no address: the primary one needs it, and the others would waste it.
    assert primary["InterfaceType"] != "efa-only"
    assert {entry["InterfaceType"] for entry in others} <= {"efa-only"}


@pytest.mark.failure_mode("A2")
@pytest.mark.failure_mode("A3")
@pytest.mark.failure_mode("A4")
@pytest.mark.failure_mode("A7")
@pytest.mark.parametrize("name", GPU_TYPES)
def test_every_interface_has_both_security_groups(name: str) -> None:
    (efa_group,) = resources(_stacks(name)["Gpu"], "AWS::EC2::SecurityGroup")
    for entry in _interfaces(name):
        cluster_group, own = entry["Groups"]
        assert "ClusterSecurityGroupId" in cluster_group["Fn::ImportValue"]
        assert own == {"Fn::GetAtt": [efa_group, "GroupId"]}
        assert entry["DeleteOnTermination"] is True
        assert not {"AssociatePublicIpAddress", "SubnetId"} & entry.keys()


def test_some_layouts_in_full() -> None:
    def layout(name: str) -> list[tuple[int, int, str]]:
        return [
            (entry["NetworkCardIndex"], entry["DeviceIndex"], entry["InterfaceType"]) for entry in _interfaces(name)
        ]

    assert layout("g6.12xlarge") == [(0, 0, "efa")]
    assert layout("p4d.24xlarge") == [(0, 0, "efa"), (1, 1, "efa-only"), (2, 1, "efa-only"), (3, 1, "efa-only")]
    assert layout("p5.48xlarge") == [(0, 0, "efa"), *((card, 1, "efa-only") for card in range(1, 32))]
    assert layout("p6-b300.48xlarge") == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


@pytest.mark.failure_mode("C15")
@pytest.mark.parametrize("name", GPU_TYPES)
def test_the_node_group_and_the_plugin_name_the_type(name: str) -> None:
    nodes = only(_stacks(name)["Gpu"], "AWS::EKS::Nodegroup")
    assert (nodes["InstanceTypes"], nodes["AmiType"]) == ([name], "AL2023_x86_64_NVIDIA")
    charts = resources(_stacks(name)["Platform"], "Custom::AWSCDK-EKS-HelmChart").values()
    (efa,) = [chart for chart in charts if chart["Properties"]["Chart"] == "aws-efa-k8s-device-plugin"]
    assert f'"supportedInstanceLabels":{{"values":["{name}"]}}' in efa["Properties"]["Values"]


@pytest.mark.parametrize("name", GPU_TYPES)
def test_pods_take_what_the_node_has(name: str) -> None:
    row = INSTANCE_TYPES[name]
    objects = manifests(_stacks(name)["Training"])
    (cluster,) = [obj for obj in objects if obj["kind"] == "RayCluster"]
    (check,) = [obj for obj in objects if obj["kind"] == "Job"]
    (group,) = cluster["spec"]["workerGroupSpecs"]
    for pod in (group["template"]["spec"], check["spec"]["template"]["spec"]):
        limits = pod["containers"][0]["resources"]["limits"]
        assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"]) == (str(row.gpus), str(row.efa_interfaces))
    (job,) = [obj for obj in objects if obj["kind"] == "RayJob"]
    assert f"--workers {2 * row.gpus} " in job["spec"]["entrypoint"]


@pytest.mark.failure_mode("B3")
@pytest.mark.parametrize(
    ("name", "device_rdma", "protocol"),
    [("g5.48xlarge", "0", "simple"), ("g6.48xlarge", None, None), ("p5.48xlarge", None, None)],
)
def test_nccl_variables_follow_the_type(name: str, device_rdma: str | None, protocol: str | None) -> None:
    (cluster,) = [obj for obj in manifests(_stacks(name)["Training"]) if obj["kind"] == "RayCluster"]
    container = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    env = {variable["name"]: variable["value"] for variable in container["env"]}
    assert (env.get("FI_EFA_USE_DEVICE_RDMA"), env.get("NCCL_PROTO")) == (device_rdma, protocol)
    assert env["FI_PROVIDER"] == "efa"


def test_the_settings_have_the_last_word_on_nccl() -> None:
    changes = {"gpu_nodes.instance_type": "g5.12xlarge", "ray.transport.NCCL_PROTO": "LL"}
    (cluster,) = [
        obj for obj in manifests(synthesise(settings_with(changes), CODE)["Training"]) if obj["kind"] == "RayCluster"
    ]
    container = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert {"name": "NCCL_PROTO", "value": "LL"} in container["env"]
