"""The cdk8s charts, as the environments emit them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import cdk8s
import pytest
import yaml

from eks_ray_train.ray_workload import NAMESPACE, SERVICE_ACCOUNT
from k8s.fabric_check import FabricCheckChart
from k8s.ray_job import RayJobChart
from tests.synthesis import (
    ENVIRONMENTS,
    REPOSITORY,
    kubernetes_objects,
    manifests,
    only,
    resources,
    settings_with,
    synthesise,
    templates,
)


def _one(kind: str, environment: str = "dev") -> dict[str, Any]:
    (obj,) = kubernetes_objects(environment, kind)
    return obj


def _spec(kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = _one(kind)["spec"]
    return spec


def _job(prefix: str) -> dict[str, Any]:
    (job,) = [job for job in kubernetes_objects("dev", "Job") if job["metadata"]["name"].startswith(prefix)]
    return job


def _head() -> dict[str, Any]:
    pod: dict[str, Any] = _spec("RayCluster")["headGroupSpec"]["template"]["spec"]
    return pod


def _worker_group() -> dict[str, Any]:
    (group,) = _spec("RayCluster")["workerGroupSpecs"]
    found: dict[str, Any] = group
    return found


def _worker() -> dict[str, Any]:
    pod: dict[str, Any] = _worker_group()["template"]["spec"]
    return pod


def _submitter() -> dict[str, Any]:
    pod: dict[str, Any] = _spec("RayJob")["submitterPodTemplate"]["spec"]
    return pod


def _env(container: dict[str, Any]) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def _all_pods() -> list[dict[str, Any]]:
    jobs = [job["spec"]["template"]["spec"] for job in kubernetes_objects("dev", "Job")]
    return [_head(), _worker(), _submitter(), *jobs]


# RayCluster


def test_the_worker_takes_its_whole_node() -> None:
    (container,) = _worker()["containers"]
    amounts = {"cpu": "40", "memory": "150Gi", "nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}
    assert container["resources"] == {"requests": amounts, "limits": amounts}
    assert _worker_group()["rayStartParams"]["num-gpus"] == "4"


@pytest.mark.failure_mode("F16")
def test_replicas_are_fixed_at_the_number_of_nodes() -> None:
    group = _worker_group()
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 2)


@pytest.mark.failure_mode("B4")
@pytest.mark.failure_mode("F22")
def test_no_rank_lands_on_the_head() -> None:
    params = _spec("RayCluster")["headGroupSpec"]["rayStartParams"]
    assert (params["num-cpus"], params["num-gpus"]) == ("0", "0")
    assert _head()["nodeSelector"] == {"role": "system"}


@pytest.mark.failure_mode("B10")
@pytest.mark.failure_mode("B11")
def test_what_needs_no_gpu_sees_none() -> None:
    prefetch = _job("image-prefetch")["spec"]["template"]["spec"]
    containers = [
        _head()["containers"][0],
        _submitter()["containers"][0],
        _worker()["initContainers"][0],
        prefetch["containers"][0],
    ]
    assert [_env(container)["NVIDIA_VISIBLE_DEVICES"] for container in containers] == ["void"] * 4
    assert "NVIDIA_VISIBLE_DEVICES" not in _env(_worker()["containers"][0])


@pytest.mark.failure_mode("B1")
@pytest.mark.failure_mode("B2")
def test_nccl_fails_rather_than_falls_back() -> None:
    env = _env(_worker()["containers"][0])
    assert env["NCCL_NET"] == "Libfabric"
    assert (env["FI_PROVIDER"], env["NCCL_NET_PLUGIN"]) == ("efa", "ofi")
    assert (env["NCCL_SOCKET_IFNAME"], env["NCCL_DEBUG"]) == ("eth0", "INFO")


@pytest.mark.failure_mode("A11")
def test_no_huge_pages() -> None:
    assert _env(_worker()["containers"][0])["FI_EFA_USE_HUGE_PAGE"] == "0"
    assert "hugepages" not in json.dumps(_one("RayCluster"))


def test_a_network_that_the_settings_name_is_not_overridden() -> None:
    transport = {"FI_PROVIDER": "tcp", "NCCL_NET_PLUGIN": "none", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_NET": "Socket"}
    stacks = synthesise(settings_with({"ray.transport": transport}))
    (cluster,) = [obj for obj in manifests(stacks["Training"]) if obj["kind"] == "RayCluster"]
    worker = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert transport.items() <= _env(worker).items()


@pytest.mark.failure_mode("B3")
def test_nothing_is_set_that_the_g_family_lacks() -> None:
    env = _env(_worker()["containers"][0])
    assert not {"FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO", "NCCL_ALGO", "NCCL_SHM_USE_CUDA_MEMCPY"} & env.keys()


@pytest.mark.failure_mode("B5")
@pytest.mark.failure_mode("G13")
def test_the_job_installs_nothing_over_the_image() -> None:
    runtime_env = yaml.safe_load(_spec("RayJob")["runtimeEnvYAML"])
    assert sorted(runtime_env) == ["env_vars", "excludes", "working_dir"]


@pytest.mark.failure_mode("F17")
def test_shared_memory_holds_the_object_store_and_more() -> None:
    worker = _worker()
    (shared,) = [volume for volume in worker["volumes"] if volume["name"] == "shared-memory"]
    assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": "32Gi"}
    mounts = {mount["name"]: mount["mountPath"] for mount in worker["containers"][0]["volumeMounts"]}
    assert mounts["shared-memory"] == "/dev/shm"
    assert int(_worker_group()["rayStartParams"]["object-store-memory"]) == 4 * 1024**3


def test_the_hosts_sys_is_mounted_read_only() -> None:
    worker = _worker()
    assert {"name": "host-sys", "hostPath": {"path": "/sys", "type": "Directory"}} in worker["volumes"]
    assert {"name": "host-sys", "mountPath": "/host/sys", "readOnly": True} in worker["containers"][0]["volumeMounts"]
    others = [pod for pod in _all_pods() if pod is not worker]
    assert "hostPath" not in json.dumps([pod for pod in others if pod != worker])


@pytest.mark.failure_mode("F13")
def test_the_wait_for_the_head_has_memory_enough() -> None:
    (init,) = _worker()["initContainers"]
    assert init["name"] == "wait-gcs-ready"  # the operator gives this one the token and FQ_RAY_IP
    assert init["resources"]["limits"]["memory"] == "1Gi"
    assert 'ray health-check --address "$FQ_RAY_IP:6379"' in init["command"][-1]


@pytest.mark.failure_mode("F14")
def test_ray_version_is_clean() -> None:
    assert _spec("RayCluster")["rayVersion"] == "2.58.0"


def test_token_authentication() -> None:
    assert _spec("RayCluster")["authOptions"] == {"mode": "token"}


@pytest.mark.failure_mode("D13")
def test_nothing_makes_a_load_balancer() -> None:
    assert _spec("RayCluster")["headGroupSpec"]["serviceType"] == "ClusterIP"
    assert "LoadBalancer" not in json.dumps(templates("dev"))
    assert "NodePort" not in json.dumps(templates("dev"))


# Where pods go


def test_gpu_pods_tolerate_the_taint_and_others_do_not() -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    for pod in _all_pods():
        gpu = pod["nodeSelector"] == {"role": "gpu-worker"}
        assert pod.get("tolerations", []) == ([toleration] if gpu else [])
        assert gpu or pod["nodeSelector"] == {"role": "system"}


def test_no_pod_gets_a_token_of_the_kubernetes_api() -> None:
    assert [pod["automountServiceAccountToken"] for pod in _all_pods()] == [False] * 5
    assert _one("ServiceAccount")["automountServiceAccountToken"] is False


def test_requests_are_limits_everywhere() -> None:
    for pod in _all_pods():
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["resources"]["requests"] == container["resources"]["limits"]


def test_no_privilege_escalation() -> None:
    for pod in _all_pods():
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False


# RayJob


@pytest.mark.failure_mode("F1")
def test_a_changed_parameter_is_a_new_job_on_the_same_cluster() -> None:
    before, after = templates("dev")["Training"], synthesise(settings_with({"training.steps": 300}))["Training"]
    assert _names(before, "RayCluster") == _names(after, "RayCluster")
    assert _names(before, "RayJob") != _names(after, "RayJob")
    assert len(_ids(after) - _ids(before)) == len(_ids(before) - _ids(after)) == 1


@pytest.mark.failure_mode("F2")
def test_a_changed_image_is_a_new_cluster_and_a_new_job() -> None:
    image = "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1.0"
    before, after = templates("dev")["Training"], synthesise(settings_with({"ray.image": image}))["Training"]
    assert _names(before, "RayCluster") != _names(after, "RayCluster")
    assert _names(before, "RayJob") != _names(after, "RayJob")
    changed = [name for name in _ids(after) - _ids(before) if name.startswith("RayTraining")]
    assert len(changed) == 2  # besides the fabric check, which runs the image too


def test_another_attempt_runs_the_same_thing_anew() -> None:
    again = synthesise(settings_with({"training.attempt": 2}))["Training"]
    assert _names(again, "RayJob") != _names(templates("dev")["Training"], "RayJob")
    assert _names(again, "RayCluster") == _names(templates("dev")["Training"], "RayCluster")


def test_changed_code_is_a_new_job() -> None:
    settings = settings_with({})
    before = synthesise(settings, code={"train.py": "a = 1\n"})["Training"]
    after = synthesise(settings, code={"train.py": "a = 2\n"})["Training"]
    assert _names(before, "RayJob") != _names(after, "RayJob")
    assert _names(before, "RayCluster") == _names(after, "RayCluster")


def _names(template: dict[str, Any], kind: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in manifests(template) if obj["kind"] == kind]


def _ids(template: dict[str, Any]) -> set[str]:
    return set(resources(template, "Custom::AWSCDK-EKS-KubernetesResource"))


@pytest.mark.failure_mode("F3")
def test_the_job_selects_the_standing_cluster_and_sets_nothing_that_excludes() -> None:
    spec = _spec("RayJob")
    assert spec["clusterSelector"] == {"ray.io/cluster": _one("RayCluster")["metadata"]["name"]}
    assert spec["submissionMode"] == "K8sJobMode"
    refused = {"rayClusterSpec", "backoffLimit", "suspend", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"}
    assert not (refused | {"deletionStrategy"}) & spec.keys()


@pytest.mark.failure_mode("F4")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_names_are_within_the_operators_limits(environment: str) -> None:
    assert len(_one("RayJob", environment)["metadata"]["name"]) <= 47
    assert len(_one("RayCluster", environment)["metadata"]["name"]) <= 53


@pytest.mark.failure_mode("F10")
@pytest.mark.failure_mode("F11")
def test_deadlines() -> None:
    spec = _spec("RayJob")
    # The operator only marks the job as failed; what ends it is the deadline in its command line, which is earlier.
    assert _options()["--deadline-seconds"] == str(4 * 3600)
    assert spec["preRunningDeadlineSeconds"] == 3600
    assert spec["activeDeadlineSeconds"] == 3600 + int(_options()["--wait-seconds"]) + 4 * 3600


@pytest.mark.failure_mode("F6")
@pytest.mark.failure_mode("F7")
def test_the_submitter_is_a_small_pod_of_the_system_node() -> None:
    pod = _submitter()
    assert pod["nodeSelector"] == {"role": "system"}
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert _spec("RayJob")["submitterConfig"] == {"backoffLimit": 2}  # an evicted one follows the running job


def test_the_code_travels_as_the_jobs_working_directory() -> None:
    runtime_env = yaml.safe_load(_spec("RayJob")["runtimeEnvYAML"])
    assert (runtime_env["working_dir"], runtime_env["excludes"]) == ("/opt/job", ["..*"])
    (container,) = _submitter()["containers"]
    assert container["volumeMounts"] == [{"name": "code", "mountPath": "/opt/job/training", "readOnly": True}]
    (volume,) = _submitter()["volumes"]
    assert volume == {"name": "code", "configMap": {"name": _one("ConfigMap")["metadata"]["name"]}}
    files = {path.name: path.read_text() for path in (REPOSITORY / "training").glob("*.py")}
    assert _one("ConfigMap")["data"] == files
    assert _one("ConfigMap")["immutable"] is True


def test_an_empty_file_travels_too() -> None:
    chart = RayJobChart(
        cdk8s.App(),
        "Job",
        namespace="ray",
        ray_cluster_name="ray",
        image="registry/image:tag",
        code={"__init__.py": "", "train.py": "pass\n"},
        arguments={},
        attempt=1,
        environment={},
        results_uri="s3://bucket/runs",
        deadline_seconds=60,
    )
    config_map = next(obj for obj in chart.to_json() if obj["kind"] == "ConfigMap")
    assert sorted(config_map["data"]) == ["__init__.py", "train.py"]


@pytest.mark.failure_mode("G2")
def test_a_run_has_a_name_of_its_own() -> None:
    name = _one("RayJob")["metadata"]["name"]
    assert _spec("RayJob")["entrypoint"].startswith(f"python -m training.train --run-name {name} ")


@pytest.mark.failure_mode("G1")
def test_results_go_to_the_bucket() -> None:
    assert _spec("RayJob")["entrypoint"].endswith("--results s3://token/runs")


def _options() -> dict[str, str]:
    words = _spec("RayJob")["entrypoint"].split()
    return dict(zip(words[3::2], words[4::2], strict=True))


def test_the_entrypoint_holds_the_settings() -> None:
    options = _options()
    assert options["--model"] == "Qwen/Qwen2.5-1.5B"
    assert options["--revision"] == "8faed761d45a263340a0528343f099c05c9a4323"
    assert (options["--data"], options["--steps"], options["--seed"]) == ("stdlib", "200", "0")
    # Not counted by the job: with a worker missing it would train on the GPUs that are there.
    assert options["--workers"] == "8"
    assert (options["--sequence-length"], options["--micro-batch"], options["--learning-rate"]) == (
        "1024",
        "1",
        "2e-05",
    )


# Fabric check and prefetch


@pytest.mark.failure_mode("D9")
def test_the_fabric_check_takes_all_gpus_and_interfaces_of_every_node() -> None:
    spec = _job("fabric-check")["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (2, 2, 0)
    assert spec["activeDeadlineSeconds"] == 720
    limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (limits["nvidia.com/gpu"], limits["vpc.amazonaws.com/efa"]) == ("4", "1")


def test_the_fabric_check_preempts_the_workers() -> None:
    values = {obj["metadata"]["name"]: obj["value"] for obj in kubernetes_objects("dev", "PriorityClass")}
    check = _job("fabric-check")["spec"]["template"]["spec"]["priorityClassName"]
    assert values[check] > values[_worker()["priorityClassName"]]


def test_the_stack_waits_until_all_pods_of_the_check_are_done() -> None:
    template = templates("dev")["Training"]
    value = only(template, "Custom::AWSCDK-EKS-KubernetesObjectValue")
    assert value["JsonPath"] == '.status.conditions[?(@.type=="Complete")].status'
    assert value["TimeoutSeconds"] == 13 * 60  # the handler's Lambda has 15, and CDK's loop overshoots
    check = _job("fabric-check")["metadata"]["name"]
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
    assert {"Ref": parameter} in only(stacks["Training"], "Custom::AWSCDK-EKS-KubernetesObjectValue")["ObjectName"][
        "Fn::Join"
    ][1]
    (group,) = resources(stacks["Gpu"], "AWS::EKS::Nodegroup")
    assert {"Fn::GetAtt": [group, "Arn"]} in identity["Value"]["Fn::Select"][1]["Fn::Split"][1]["Fn::Select"][1][
        "Fn::Split"
    ]


def test_a_failed_check_is_gone_before_the_next_try() -> None:
    """While a failed Job of the same name is there, applying it again changes nothing."""
    job = _job("fabric-check")
    assert 13 * 60 < job["spec"]["ttlSecondsAfterFinished"] <= 20 * 60
    assert job["metadata"]["labels"] == {"app.kubernetes.io/name": "fabric-check"}
    before, after = templates("dev")["Training"], synthesise(settings_with({"gpu_nodes.count": 3}))["Training"]
    ids = [{name for name in _ids(template) if name.startswith("FabricCheck")} for template in (before, after)]
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
    container = _job("fabric-check")["spec"]["template"]["spec"]["containers"][0]
    _tool(tmp_path / "nvidia-smi", [driver] * gpus)
    _tool(tmp_path / "fi_info", [f"provider: efa\n    domain: rdmap{index}s0-rdm" for index in range(interfaces)])
    log = tmp_path / "termination-log"
    result = subprocess.run(
        container["command"],
        env={**_env(container), "NODE_NAME": "n1", "TERMINATION_LOG": str(log), "PATH": f"{tmp_path}:/usr/bin:/bin"},
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
    job = _job("image-prefetch")
    assert job["spec"]["completions"] == 2
    pod = job["spec"]["template"]["spec"]
    assert "nvidia.com/gpu" not in pod["containers"][0]["resources"]["limits"]
    assert pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert pod["containers"][0]["image"] == _head()["containers"][0]["image"]


# Namespace and network policies


@pytest.mark.failure_mode("C14")
def test_workers_are_not_drained_for_an_update_of_their_nodes() -> None:
    spec = _spec("PodDisruptionBudget")
    assert spec == {"maxUnavailable": 0, "selector": {"matchLabels": {"ray.io/node-type": "worker"}}}


def test_the_namespaces_one_exception() -> None:
    labels = {obj["metadata"]["name"]: obj["metadata"]["labels"] for obj in kubernetes_objects("dev", "Namespace")}
    assert labels[NAMESPACE] == {
        "pod-security.kubernetes.io/enforce": "privileged",
        "pod-security.kubernetes.io/warn": "baseline",
        "pod-security.kubernetes.io/audit": "baseline",
    }
    assert labels["image-prefetch"] == {"pod-security.kubernetes.io/enforce": "restricted"}


def _policies() -> dict[str, dict[str, Any]]:
    return {obj["metadata"]["name"]: obj["spec"] for obj in kubernetes_objects("dev", "NetworkPolicy")}


def test_everything_is_denied_first() -> None:
    assert _policies()["deny-all"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_what_is_allowed() -> None:
    policies = _policies()
    assert sorted(policies) == ["deny-all", "dns", "https-out", "operator-to-dashboard", "pod-identity", "ray-to-ray"]
    assert policies["ray-to-ray"]["ingress"] == [{"from": [{"podSelector": {}}]}]
    (dashboard,) = policies["operator-to-dashboard"]["ingress"]
    assert dashboard["ports"] == [{"protocol": "TCP", "port": 8265}]
    (operator,) = dashboard["from"]  # both selectors in one entry: the operator's pods of its namespace
    assert operator["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kuberay-system"}
    assert operator["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "kuberay-operator"}
    assert policies["pod-identity"]["egress"] == [
        {"to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}], "ports": [{"protocol": "TCP", "port": 80}]}
    ]
    assert policies["dns"]["egress"][0]["ports"] == [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]


def test_nothing_reaches_the_nodes_metadata() -> None:
    (https,) = _policies()["https-out"]["egress"]
    assert https["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}]
    assert https["ports"] == [{"protocol": "TCP", "port": 443}]


def test_pods_use_pod_identity() -> None:
    association = only(templates("dev")["Training"], "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == (NAMESPACE, SERVICE_ACCOUNT)
    assert [_head()["serviceAccountName"], _worker()["serviceAccountName"]] == [SERVICE_ACCOUNT] * 2
    assert _one("ServiceAccount")["metadata"]["name"] == SERVICE_ACCOUNT
