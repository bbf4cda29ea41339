"""What nodeadm is asked for: the launch template's user data, read as nodeadm reads it."""

import email
import email.message
from typing import Any

import pytest
import yaml

from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.node_config import node_config, user_data
from tests.synthesis import Template, only, settings_with, synthesise, templates

NVME = {"instance": {"localStorage": {"strategy": "RAID0"}}}
PARALLEL = {"featureGates": {"FastImagePull": True}}


def _parts(text: str) -> list[email.message.Message]:
    document = email.message_from_string(text)
    assert document.get_content_type() == "multipart/mixed"
    assert document["MIME-Version"] == "1.0"
    assert document.is_multipart()
    assert not document.defects
    return [part for part in document.walk() if part is not document]


def _spec(template: Template) -> dict[str, Any]:
    (part,) = _parts(only(template, "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]["UserData"]["Fn::Base64"])
    assert part.get_content_type() == "application/node.eks.aws"
    config = yaml.safe_load(str(part.get_payload()))
    # With any other version or kind nodeadm fails, and the node never joins (amazon-eks-ami#2052).
    assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
    assert config.keys() == {"apiVersion", "kind", "spec"}
    spec: dict[str, Any] = config["spec"]
    return spec


def test_the_disks_of_the_type_hold_images_and_pods() -> None:
    assert _spec(templates("prod")["Gpu"]) == NVME


def test_parallel_pull_is_a_switch() -> None:
    assert _spec(templates("dev")["Gpu"]) == {**PARALLEL, **NVME}
    off = synthesise(settings_with({"gpu_nodes.parallel_pull": False}))
    assert _spec(off["Gpu"]) == NVME


def test_system_nodes_get_eks_own_configuration_alone() -> None:
    assert "UserData" not in only(templates("dev")["Cluster"], "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]


@pytest.mark.parametrize("name", ["g5.12xlarge", "g6.12xlarge", "m7i.xlarge"])
def test_raid_where_there_are_disks(name: str) -> None:
    spec = node_config(INSTANCE_TYPES[name], parallel_pull=False)["spec"]
    assert spec == ({} if name == "m7i.xlarge" else NVME)


def test_the_text_is_the_same_each_time() -> None:
    """A boundary that differs would be a new launch template version, and new nodes, with every deploy."""
    config = node_config(INSTANCE_TYPES["g6.12xlarge"], parallel_pull=True)
    assert user_data(config) == user_data(config)
    assert user_data(config).count("--NODE-CONFIG") == 2  # the part, and the end
