"""The RayCluster, as the environments emit it."""

import json
from pathlib import Path

import pytest
import yaml

from k8s.ray_cluster import HOST_SYS
from tests.objects import (
    all_pods,
    head_pod,
    job_named,
    spec_of,
    submitter_pod,
    the_one,
    variables,
    worker_group,
    worker_pod,
)
from tests.synthesis import manifests, settings_with, synthesise, templates
from training import transport_counters
from training.plan_model import QWEN2_5_1_5B, read_model
from training.transport_log import log_path


def test_the_worker_takes_its_whole_node() -> None:
    (container,) = worker_pod()["containers"]
    amounts = {"cpu": "40", "memory": "144Gi", "nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}
    assert container["resources"] == {"requests": amounts, "limits": amounts}
    assert worker_group()["rayStartParams"]["num-gpus"] == "4"


@pytest.mark.failure_mode("F16")
def test_replicas_are_fixed_at_the_number_of_nodes() -> None:
    group = worker_group()
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 2)


@pytest.mark.failure_mode("B4")
@pytest.mark.failure_mode("F22")
def test_no_rank_lands_on_the_head() -> None:
    params = spec_of("RayCluster")["headGroupSpec"]["rayStartParams"]
    assert (params["num-cpus"], params["num-gpus"]) == ("0", "0")
    assert head_pod()["nodeSelector"] == {"role": "system"}


@pytest.mark.failure_mode("B10")
@pytest.mark.failure_mode("B11")
def test_what_needs_no_gpu_sees_none() -> None:
    prefetch = job_named("image-prefetch")["spec"]["template"]["spec"]
    containers = [
        head_pod()["containers"][0],
        submitter_pod()["containers"][0],
        worker_pod()["initContainers"][0],
        prefetch["containers"][0],
    ]
    assert [variables(container)["NVIDIA_VISIBLE_DEVICES"] for container in containers] == ["void"] * 4
    assert "NVIDIA_VISIBLE_DEVICES" not in variables(worker_pod()["containers"][0])


@pytest.mark.failure_mode("B1")
@pytest.mark.failure_mode("B2")
def test_nccl_fails_rather_than_falls_back() -> None:
    env = variables(worker_pod()["containers"][0])
    assert env["NCCL_NET"] == "Libfabric"
    assert (env["FI_PROVIDER"], env["NCCL_NET_PLUGIN"]) == ("efa", "ofi")
    assert (env["NCCL_SOCKET_IFNAME"], env["NCCL_DEBUG"]) == ("eth0", "INFO")


def test_each_process_has_an_nccl_log_that_the_training_can_read() -> None:
    variables_of_worker = variables(worker_pod()["containers"][0])
    host, pid = "ray-worker-x7", 412
    path = log_path(variables_of_worker["NCCL_DEBUG_FILE"], host, pid)
    assert path == Path("/tmp/nccl-ray-worker-x7-412.log")
    assert (variables_of_worker["NCCL_DEBUG"], variables_of_worker["NCCL_DEBUG_SUBSYS"]) == ("INFO", "INIT,NET,ENV")
    assert Path(HOST_SYS) == transport_counters.HOST_SYS


def test_the_flight_recorder_holds_three_steps_of_sixteen_micro_batches() -> None:
    groups = len(read_model(QWEN2_5_1_5B).groups)
    # Each micro-batch gathers a group twice and reduces it; the last one reduces across nodes too.
    collectives = 3 * (16 * 3 + 1) * groups
    assert int(variables(worker_pod()["containers"][0])["TORCH_FR_BUFFER_SIZE"]) > collectives > 2000


@pytest.mark.failure_mode("A11")
def test_no_huge_pages() -> None:
    assert variables(worker_pod()["containers"][0])["FI_EFA_USE_HUGE_PAGE"] == "0"
    assert "hugepages" not in json.dumps(the_one("RayCluster"))


def test_what_the_settings_name_is_not_overridden() -> None:
    own = {"NCCL_DEBUG_SUBSYS": "INIT,NET,ENV,TUNING", "NCCL_DEBUG_FILE": "/dev/shm/%h-%p"}
    transport = {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NCCL_SOCKET_IFNAME": "eth0", **own}
    stacks = synthesise(settings_with({"ray.transport": transport}))
    (cluster,) = [obj for obj in manifests(stacks["Training"]) if obj["kind"] == "RayCluster"]
    worker = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert own.items() <= variables(worker).items()


@pytest.mark.failure_mode("B3")
def test_nothing_is_set_that_the_g_family_lacks() -> None:
    env = variables(worker_pod()["containers"][0])
    assert not {"FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO", "NCCL_ALGO", "NCCL_SHM_USE_CUDA_MEMCPY"} & env.keys()


@pytest.mark.failure_mode("B5")
@pytest.mark.failure_mode("G13")
def test_the_job_installs_nothing_over_the_image() -> None:
    runtime_env = yaml.safe_load(spec_of("RayJob")["runtimeEnvYAML"])
    assert sorted(runtime_env) == ["env_vars", "excludes", "working_dir"]


@pytest.mark.failure_mode("F17")
def test_shared_memory_holds_the_object_store_and_more() -> None:
    worker = worker_pod()
    (shared,) = [volume for volume in worker["volumes"] if volume["name"] == "shared-memory"]
    assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": "32Gi"}
    mounts = {mount["name"]: mount["mountPath"] for mount in worker["containers"][0]["volumeMounts"]}
    assert mounts["shared-memory"] == "/dev/shm"
    assert int(worker_group()["rayStartParams"]["object-store-memory"]) == 4 * 1024**3


def test_the_hosts_sys_is_mounted_read_only() -> None:
    worker = worker_pod()
    assert {"name": "host-sys", "hostPath": {"path": "/sys", "type": "Directory"}} in worker["volumes"]
    assert {"name": "host-sys", "mountPath": "/host/sys", "readOnly": True} in worker["containers"][0]["volumeMounts"]
    others = [pod for pod in all_pods() if pod is not worker]
    assert "hostPath" not in json.dumps([pod for pod in others if pod != worker])


@pytest.mark.failure_mode("F13")
def test_the_wait_for_the_head_has_memory_enough() -> None:
    (init,) = worker_pod()["initContainers"]
    assert init["name"] == "wait-gcs-ready"  # the operator gives this one the token and FQ_RAY_IP
    assert init["resources"]["limits"]["memory"] == "1Gi"
    assert 'ray health-check --address "$FQ_RAY_IP:6379"' in init["command"][-1]


@pytest.mark.failure_mode("F14")
def test_ray_version_is_clean() -> None:
    assert spec_of("RayCluster")["rayVersion"] == "2.58.0"


def test_token_authentication() -> None:
    assert spec_of("RayCluster")["authOptions"] == {"mode": "token"}


@pytest.mark.failure_mode("D13")
def test_nothing_makes_a_load_balancer() -> None:
    assert spec_of("RayCluster")["headGroupSpec"]["serviceType"] == "ClusterIP"
    assert "LoadBalancer" not in json.dumps(templates("dev"))
    assert "NodePort" not in json.dumps(templates("dev"))
