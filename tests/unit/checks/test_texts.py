"""What a person reads: the whole text where it matters, and that synthesis refuses with it."""

from typing import Any

import pytest

from app import InvalidEnvironmentError
from eks_ray_train.checks import check_settings, errors, render, warnings
from environments.loading import load
from tests.synthesis import CODE, settings_with, synthesise
from tests.unit.checks.drafts import draft


@pytest.mark.failure_mode("F5")
def test_the_samples_head_does_not_fit_its_node() -> None:
    settings = settings_with({"ray.head.cpu": 4, "ray.head.memory_gib": 16})
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings)
    assert str(error.value) == (
        "environments/dev.toml cannot work: 1 problem\n"
        "\n"
        "  ray.head = 4 CPU, 16.0 GiB for ray-head   [pod-fits]\n"
        "    expected: at most 2.85 CPU, 11.9 GiB, the most that is free on one of 1 x m7i.xlarge (system_nodes), "
        "beside ray-job-submitter, kuberay-operator, coredns, image-prefetch-head\n"
        "    to do:    set ray.head.cpu = 2 and ray.head.memory_gib = 11, or choose a larger instance type"
    )
    assert [finding.code for finding in error.value.findings] == ["pod-fits"]


def test_the_head_takes_what_it_is_told_and_no_more() -> None:
    room = {"ray.head.cpu": 2, "ray.head.memory_gib": 11}
    assert "Training" in synthesise(settings_with(room))
    for more in ({"ray.head.cpu": 3}, {"ray.head.memory_gib": 12}):
        with pytest.raises(InvalidEnvironmentError, match="pod-fits"):
            synthesise(settings_with(room | more))


def test_kubernetes_1_30_takes_layer_v30_and_is_refused() -> None:
    settings = settings_with({"cluster.kubernetes_version": "1.30"})
    assert render(check_settings(settings)[:1], source="environments/dev.toml") == (
        "environments/dev.toml cannot work: 1 problem\n"
        "\n"
        "  cluster.kubernetes_version = 1.30 (kubectl layer v30)   [kubernetes-creatable]\n"
        "    expected: 1.32 or newer: EKS creates no cluster past its extended support\n"
        '    to do:    set kubernetes_version = "1.36", whose kubectl layer is v36'
    )


@pytest.mark.failure_mode("B3")
def test_warnings_come_after_errors_and_refuse_nothing() -> None:
    broken = draft(
        {"ray.transport.NCCL_PROTO": "LL128", "ray.transport.FI_EFA_USE_DEVICE_RDMA": "1"},
        {"gpu_nodes.instance_type": "g5.12xlarge"},
    )
    findings = broken.findings()
    assert [finding.code for finding in errors(findings)] == ["transport-rdma"]
    assert [finding.code for finding in warnings(findings)] == ["transport-diagnostic"]
    assert render(findings, source="dev") == (
        "dev cannot work: 1 problem\n"
        "\n"
        "  ray.transport.FI_EFA_USE_DEVICE_RDMA = 1   [transport-rdma]\n"
        "    expected: not set: the EFA device of a g5.12xlarge has no RDMA read, and libfabric aborts the job\n"
        "    to do:    remove it: libfabric finds out by itself what the device can do\n"
        "\n"
        "Also:\n"
        "\n"
        "  ray.transport.NCCL_PROTO = LL128   [transport-diagnostic]\n"
        "    expected: not set: with it NCCL no longer chooses by message size\n"
        "    to do:    remove it, unless you measure the difference"
    )
    alone = render(warnings(findings), source="dev")
    assert alone.startswith("dev can be deployed, but: 1 warning\n\n  ray.transport.NCCL_PROTO")


@pytest.mark.failure_mode("D4")
def test_code_over_the_limit_is_refused_at_synthesis() -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(load("dev"), code={**CODE, "big.py": "x" * 300_000})
    assert "training/ = 300," in str(error.value)
    assert "most of them in big.py   [code-size]" in str(error.value)
    assert "at most 204,800 bytes" in str(error.value)


def test_what_an_unknown_image_holds_is_assumed_and_said() -> None:
    settings = settings_with({"ray.image": "rayproject/ray:2.58.0", "cluster.kubernetes_version": "1.33"})
    finding = check_settings(settings)[0]
    assert (finding.code, finding.value) == ("driver-fits-cuda", "1.33 (driver 570)")
    assert finding.expected == (
        "1.34 or newer, whose AMIs have the 580 driver that CUDA 13.0.2 wants: what the image holds is unknown; CUDA "
        "13.0.2 is assumed"
    )


def test_a_worker_that_does_not_fit_may_be_left_out() -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings_with({"ray.worker": {"cpu": 48}}))
    assert (
        "leave [ray.worker] and ray.shared_memory_gib out, for what such a node has, or ask for less, or choose"
        in str(error.value)
    )


def test_a_release_is_not_compared_with_a_version_that_is_refused() -> None:
    settings = settings_with({"cluster.kubernetes_version": "1.30", "gpu_nodes.ami_release": "1.36.3-20260911"})
    assert "ami-version" not in {finding.code for finding in check_settings(settings)}


def test_kubectl_too_far_from_the_cluster() -> None:
    (finding,) = check_settings(settings_with({"cluster.kubernetes_version": "1.34"}))
    assert finding.value == "1.34 (nearest kubectl layer v36, 2 minors away)"
    assert finding.expected == ("a version at most one minor from a kubectl layer: there are layers for 1.30, 1.36")
    assert "aws-cdk.lambda-layer-kubectl-v34" in finding.remedy


@pytest.mark.failure_mode("B1")
def test_efa_cannot_be_proven_on_one_node() -> None:
    assert render(check_settings(settings_with({"gpu_nodes.count": 1})), source="environments/dev.toml") == (
        "environments/dev.toml cannot work: 1 problem\n"
        "\n"
        "  training.require_transport = efa   [transport-proof]\n"
        '    expected: "none" with gpu_nodes.count = 1: no byte leaves the node, so the job could prove nothing and '
        "would end before its first step\n"
        '    to do:    set require_transport = "none", or gpu_nodes.count = 2 or more'
    )


def test_shell_characters_are_named() -> None:
    broken = draft()
    broken.ray_job["entrypoint"] += "; curl example.com"
    (finding,) = broken.findings()
    assert finding.field == "RayJob: entrypoint"
    assert finding.expected == "none of ';': KubeRay hands it to a shell unquoted"


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"cluster.kubernetes_version": "1.30"}, ["kubernetes-creatable", "driver-fits-cuda"]),
        ({"cluster.kubernetes_version": "1.33"}, ["driver-fits-cuda", "kubectl-skew"]),
        ({"cluster.kubernetes_version": "1.35"}, []),
        ({"cluster.kubernetes_version": "1.38"}, ["kubernetes-creatable", "kubectl-skew"]),
        ({"gpu_nodes.ami_release": "1.36.1-20261110"}, []),
        ({"ray.image": "registry/image:mine", "ray.version": "2.52.0"}, ["ray-version", "image-known"]),
        ({"ray.image": "registry/image:train-ml-cuda-v1.1.0"}, ["image-known"]),
        ({"ray.image": "registry/deep-learning-containers/ray:train-ml-cuda-v1.1.0"}, []),
        (
            {"ray.image": "registry/deep-learning-containers/ray:train-ml-cuda-v1.1.0", "ray.version": "2.57.0"},
            ["ray-version"],
        ),
        ({"ray.image": "registry/deep-learning-containers/ray:other"}, ["image-known"]),
        ({"ray.image": f"registry/image@sha256:{64 * '0'}"}, []),
        ({"ray.transport.NCCL_NET": "ofi"}, []),
        (
            {
                "training.require_transport": "socket",
                "ray.transport.NCCL_NET": "Socket",
                "ray.transport.NCCL_NET_PLUGIN": "none",
            },
            [],
        ),
        ({"training.require_transport": "none", "ray.transport.NCCL_NET": "Socket"}, ["transport-net"]),
        ({"gpu_nodes.count": 1, "training.require_transport": "socket"}, ["transport-net", "transport-proof"]),
        ({"gpu_nodes.count": 1, "training.require_transport": "none"}, []),
        ({"ray.transport.NCCL_P2P_DISABLE": "0"}, []),
        ({"ray.transport.NCCL_NET_PLUGIN": "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"}, []),
        ({"ray.transport.NCCL_NET_PLUGIN": "aws-ofi"}, ["transport-plugin"]),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "^lo,docker0"}, []),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "^=lo"}, []),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "eth"}, []),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "=eth0"}, []),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "=eth"}, ["transport-interface"]),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "eth0,lo"}, ["transport-interface"]),
        ({"ray.transport.NCCL_SOCKET_IFNAME": "^docker"}, ["transport-interface"]),
        ({"ray.transport.NCCL_SOCKET_IFNAME": ""}, ["transport-interface"]),
        ({"ray.transport.FI_EFA_USE_DEVICE_RDMA": "1"}, []),
        ({"gpu_nodes.instance_type": "g5.12xlarge", "ray.transport.FI_EFA_USE_DEVICE_RDMA": "off"}, []),
        ({"gpu_nodes.instance_type": "g5.12xlarge", "ray.transport.FI_EFA_USE_DEVICE_RDMA": "on"}, ["transport-rdma"]),
        (
            {"gpu_nodes.instance_type": "p5.48xlarge", "ray.transport.FI_EFA_USE_DEVICE_RDMA": "False"},
            ["transport-rdma-off"],
        ),
        ({"gpu_nodes.instance_type": "g5.12xlarge", "ray.transport.NCCL_PROTO": "Simple"}, []),
        ({"ray.transport.NCCL_DEBUG_SUBSYS": "ALL"}, []),
        ({"ray.transport.NCCL_DEBUG_SUBSYS": "net,init"}, []),
        ({"ray.transport.NCCL_DEBUG_SUBSYS": "^COLL"}, []),
        ({"gpu_nodes.instance_type": "g6.8xlarge"}, []),
    ],
)
def test_which_settings_are_fine_and_which_break_several_rules(changes: dict[str, Any], codes: list[str]) -> None:
    assert [finding.code for finding in check_settings(settings_with(changes))] == codes
