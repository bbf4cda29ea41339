"""The jobs that run on each GPU node: the fabric check and the image prefetch."""

import json
import subprocess
from pathlib import Path

import cdk8s
import pytest

from k8s.fabric_check import FabricCheckChart
from tests.objects import head_pod, job_named, variables, worker_pod
from tests.synthesis import kubernetes_objects, only, resources, settings_with, synthesise, templates


@pytest.mark.failure_mode("D9")
def test_the_fabric_check_takes_all_gpus_and_interfaces_of_every_node() -> None:
    spec = job_named("fabric-check")["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (2, 2, 0)
    assert spec["activeDeadlineSeconds"] == 720
    limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"]) == ("4", "1")


def test_the_fabric_check_preempts_the_workers() -> None:
    values = {obj["metadata"]["name"]: obj["value"] for obj in kubernetes_objects("dev", "PriorityClass")}
    check = job_named("fabric-check")["spec"]["template"]["spec"]["priorityClassName"]
    assert values[check] > values[worker_pod()["priorityClassName"]]


def test_the_stack_waits_until_all_pods_of_the_check_are_done() -> None:
    template = templates("dev")["Training"]
    value = only(template, "Custom::AWSCDK-EKS-KubernetesObjectValue")
    assert value["JsonPath"] == '.status.conditions[?(@.type=="Complete")].status'
    assert value["TimeoutSeconds"] == 13 * 60  # the handler's Lambda has 15, and CDK's loop overshoots
    check = job_named("fabric-check")["metadata"]["name"]
    assert "".join(part if isinstance(part, str) else "token" for part in value["ObjectName"]["Fn::Join"][1]) == check


def test_the_check_runs_again_for_other_nodes_only() -> None:
    def name(nodes_id: str = "0a1b2c3d", nodes: int = 2, ami_release: str | None = None) -> str:
        return FabricCheckChart(
            cdk8s.App(),
            "Check",
            namespace="ray",
            image="registry/image:tag",
            nodes=nodes,
            nodes_id=nodes_id,
            gpus=4,
            efa_interfaces=1,
            ami_release=ami_release,
        ).job_name

    assert name() == name()
    assert len({name(), name(nodes_id="ffffffff"), name(nodes=3), name(ami_release="1.36.1-20261110")}) == 4
    assert len(name(nodes=64)) + len("-63") <= 63  # an indexed Job's pods are named so


def test_a_replaced_node_group_reaches_the_check_without_an_export() -> None:
    """CloudFormation refuses to change what another stack imports: the group could never be replaced."""
    stacks = templates("dev")
    assert "ray-train-dev-Gpu:" not in json.dumps(stacks["Training"])
    identity = only(stacks["Gpu"], "AWS::SSM::Parameter")
    (parameter,) = [
        name for name, value in stacks["Training"]["Parameters"].items() if value["Default"] == identity["Name"]
    ]
    assert stacks["Training"]["Parameters"][parameter]["Type"] == "AWS::SSM::Parameter::Value<String>"
    name = only(stacks["Training"], "Custom::AWSCDK-EKS-KubernetesObjectValue")["ObjectName"]["Fn::Join"][1]
    uuid = {"Fn::Select": [3, {"Fn::Split": ["/", {"Ref": parameter}]}]}
    assert {"Fn::Select": [0, {"Fn::Split": ["-", uuid]}]} in name
    (group,) = resources(stacks["Gpu"], "AWS::EKS::Nodegroup")
    assert identity["Value"] == {"Fn::GetAtt": [group, "Arn"]}


def test_a_failed_check_is_gone_before_the_next_try() -> None:
    """While a failed Job of the same name is there, applying it again changes nothing."""
    job = job_named("fabric-check")
    assert 13 * 60 < job["spec"]["ttlSecondsAfterFinished"] <= 20 * 60
    assert job["metadata"]["labels"] == {"app.kubernetes.io/name": "fabric-check"}
    before, after = templates("dev")["Training"], synthesise(settings_with({"gpu_nodes.count": 3}))["Training"]
    ids = [{name for name in template["Resources"] if name.startswith("FabricCheck")} for template in (before, after)]
    assert all(ids)
    assert not ids[0] & ids[1]  # the rollback of a failed one deletes its Job


@pytest.mark.failure_mode("B6")
@pytest.mark.parametrize(
    ("driver", "gpus", "interfaces", "message"),
    [
        ("580.95.05", 4, 1, "node n1: 4 GPUs, driver 580, 1 EFA interfaces"),
        ("570.86.10", 4, 1, "expected NVIDIA driver 580 or newer for the image's CUDA, found 570"),
        ("580.95.05", 3, 1, "expected 4 GPUs, nvidia-smi lists 3"),
        ("580.95.05", 0, 1, "nvidia-smi failed: the node has no NVIDIA driver"),
        ("580.95.05", 4, 0, "fi_info finds no EFA provider"),
    ],
)
def test_the_checks_script(tmp_path: Path, driver: str, gpus: int, interfaces: int, message: str) -> None:
    """The script as the pod runs it, against stand-ins of the two tools that print what the real ones print."""
    container = job_named("fabric-check")["spec"]["template"]["spec"]["containers"][0]
    _tool(tmp_path / "nvidia-smi", [driver] * gpus)
    _tool(tmp_path / "fi_info", [f"provider: efa\n    domain: rdmap{index}s0-rdm" for index in range(interfaces)])
    log = tmp_path / "termination-log"
    result = subprocess.run(
        container["command"],
        env={
            **variables(container),
            "NODE_NAME": "n1",
            "TERMINATION_LOG": str(log),
            "PATH": f"{tmp_path}:/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        timeout=30,
    )
    good = message.startswith("node n1")
    assert message in result.stdout
    assert result.returncode == (0 if good else 1)
    assert good or message in log.read_text()


def _tool(path: Path, lines: list[str]) -> None:
    output = "\n".join(lines)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n" if lines else "#!/bin/sh\nexit 1\n")
    path.chmod(0o755)


def test_the_prefetch_pulls_on_every_gpu_node_and_asks_for_no_gpu() -> None:
    job = job_named("image-prefetch")
    assert job["spec"]["completions"] == 2
    pod = job["spec"]["template"]["spec"]
    assert "nvidia.com/gpu" not in pod["containers"][0]["resources"]["limits"]
    assert pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert pod["containers"][0]["image"] == head_pod()["containers"][0]["image"]


def test_the_heads_image_is_pulled_where_the_head_will_run() -> None:
    job = job_named("image-prefetch-head")
    assert job["spec"]["completions"] == 1
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == head_pod()["nodeSelector"] == {"role": "system"}
    assert "tolerations" not in pod
    assert pod["containers"][0]["image"] == head_pod()["containers"][0]["image"]
