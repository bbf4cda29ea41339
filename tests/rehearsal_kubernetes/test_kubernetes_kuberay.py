"""The stand-in for the KubeRay operator, and the contract with whoever runs the job."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.kubernetes.controllers.kuberay_rules import ray_cluster_fault, ray_job_fault
from tests.rehearsal_kubernetes.clients import (
    Client,
    Object,
    deployed,
    deployed_objects,
    eventually,
    full_cluster,
    gpu_node,
    node,
    operator,
)

NAMESPACE = "ray-train"
RAY = f"/apis/ray.io/v1/namespaces/{NAMESPACE}"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
MERGE = "application/merge-patch+json"


def job_path() -> str:
    return f"{RAY}/rayjobs/{deployed('RayJob')['metadata']['name']}"


def state(client: Client) -> Object:
    return dict(client.request("GET", job_path())[1].get("status") or {})


def reaches(client: Client, expected: str) -> bool:
    return bool(eventually(lambda: state(client).get("jobDeploymentStatus") == expected))


def pods(client: Client, selector: str) -> list[Object]:
    return list(client.request("GET", f"{CORE}/pods?labelSelector={selector}")[1]["items"])


def end(client: Client, job_status: str, deployment_status: str) -> None:
    """What an outside runner does when the job has ended."""
    status = {"jobStatus": job_status, "jobDeploymentStatus": deployment_status}
    assert client.request("PATCH", f"{job_path()}/status", {"status": status}, MERGE)[0] == 200


def submitter_phases(client: Client) -> list[str]:
    return [pod["status"]["phase"] for pod in pods(client, f"job-name={deployed('RayJob')['metadata']['name']}")]


def test_a_job_runs_from_apply_to_deletion(ray_client: Client) -> None:
    ray_client.apply(*full_cluster(), *deployed_objects())
    assert reaches(ray_client, "Running"), state(ray_client)
    name = deployed("RayCluster")["metadata"]["name"]

    cluster = ray_client.request("GET", f"{RAY}/rayclusters/{name}")[1]["status"]
    assert (cluster["state"], cluster["readyWorkerReplicas"], cluster["desiredWorkerReplicas"]) == ("ready", 2, 2)
    assert len(pods(ray_client, f"ray.io/cluster={name},ray.io/node-type=head,ray.io/group=headgroup")) == 1
    workers = pods(ray_client, f"ray.io/cluster={name},ray.io/node-type=worker,ray.io/group=gpu-workers")
    assert {pod["spec"]["nodeName"] for pod in workers} == {"gpu-1", "gpu-2"}
    token = ray_client.request("GET", f"{CORE}/secrets/{name}")[1]["data"]["auth_token"]
    assert len(base64.b64decode(token)) >= 24
    assert ray_client.request("GET", f"{CORE}/services/{name}-head-svc")[0] == 200
    (submitter,) = pods(ray_client, f"job-name={deployed('RayJob')['metadata']['name']}")
    assert (submitter["spec"]["nodeName"], submitter["status"]["phase"]) == ("system-1", "Running")
    assert ray_client.request("GET", job_path())[1]["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]

    end(ray_client, "SUCCEEDED", "Complete")
    assert eventually(lambda: submitter_phases(ray_client) == ["Succeeded"])
    # An edit does not run it again.
    ray_client.request("PATCH", job_path(), {"spec": {"entrypoint": "python again.py"}}, MERGE)
    assert not eventually(lambda: state(ray_client)["jobDeploymentStatus"] != "Complete", seconds=0.5)

    ray_client.kubectl("delete", "rayjob", "--all", "-n", NAMESPACE, "--timeout=20s")
    assert eventually(lambda: submitter_phases(ray_client) == [])


def test_a_failed_job_ends_its_submitter(ray_client: Client) -> None:
    ray_client.apply(*full_cluster(), *deployed_objects())
    assert reaches(ray_client, "Running"), state(ray_client)
    end(ray_client, "FAILED", "Failed")
    assert eventually(lambda: submitter_phases(ray_client)[0] == "Failed")


def test_nothing_happens_without_the_operator_and_deletion_waits_for_it(ray_client: Client) -> None:
    ray_client.apply(node("system-1"), *deployed_objects())
    assert not eventually(lambda: state(ray_client), seconds=0.5)
    ray_client.apply(*operator())
    assert reaches(ray_client, "Initializing")
    ray_client.kubectl("delete", "deployment", "kuberay-operator", "-n", "kuberay-system")
    ray_client.request("DELETE", job_path())
    assert not eventually(lambda: ray_client.request("GET", job_path())[0] == 404, seconds=0.5)
    ray_client.apply(*operator())
    assert eventually(lambda: ray_client.request("GET", job_path())[0] == 404)


def test_the_fabric_check_takes_the_workers_gpus_and_gives_them_back(ray_client: Client) -> None:
    """Changed nodes are checked again while the standing cluster holds their GPUs."""
    objects = deployed_objects()
    check = deployed("Job")
    ray_client.apply(*full_cluster(), *[obj for obj in objects if obj["kind"] not in ("Job", "RayJob")])
    name = deployed("RayCluster")["metadata"]["name"]

    def workers() -> set[str]:
        found = pods(ray_client, f"ray.io/cluster={name},ray.io/node-type=worker")
        return {pod["metadata"]["uid"] for pod in found if pod["status"]["phase"] == "Running"}

    before = eventually(lambda: workers() if len(workers()) == 2 else None)
    ray_client.apply(check)
    ray_client.kubectl(
        "wait", "--for=condition=complete", f"job/{check['metadata']['name']}", "-n", NAMESPACE, "--timeout=20s"
    )
    assert eventually(lambda: len(workers()) == 2)
    assert not workers() & before


def test_workers_wait_while_their_nodes_are_away_and_run_on_those_that_come(ray_client: Client) -> None:
    """Nodes that are parked take every pod along, and the standing cluster comes back with other nodes."""
    ray_client.apply(*full_cluster(), *[obj for obj in deployed_objects() if obj["kind"] not in ("Job", "RayJob")])
    name = deployed("RayCluster")["metadata"]["name"]

    def workers() -> list[tuple[str, str]]:
        found = pods(ray_client, f"ray.io/cluster={name},ray.io/node-type=worker")
        return sorted((pod["status"]["phase"], pod["spec"].get("nodeName", "")) for pod in found)

    def ready() -> Any:
        return ray_client.request("GET", f"{RAY}/rayclusters/{name}")[1]["status"]["readyWorkerReplicas"]

    assert eventually(lambda: workers() == [("Running", "gpu-1"), ("Running", "gpu-2")]), workers()
    for node_name in ("gpu-1", "gpu-2"):
        ray_client.request("DELETE", f"/api/v1/nodes/{node_name}")
    assert eventually(lambda: workers() == [("Pending", ""), ("Pending", "")]), workers()
    assert eventually(lambda: ready() == 0)
    everywhere = ray_client.request("GET", "/api/v1/pods")[1]["items"]
    assert {pod["spec"].get("nodeName") for pod in everywhere} == {"system-1", None}
    for node_name in ("gpu-3", "gpu-4"):
        ray_client.create("/api/v1/nodes", gpu_node(node_name))
    assert eventually(lambda: workers() == [("Running", "gpu-3"), ("Running", "gpu-4")]), workers()
    assert eventually(lambda: ready() == 2)


def test_a_job_waits_for_its_cluster_until_its_deadline(ray_client: Client) -> None:
    job = deployed("RayJob")
    job["spec"]["preRunningDeadlineSeconds"] = 1
    ray_client.apply(
        node("system-1"), *operator(), *[obj for obj in deployed_objects() if obj["kind"] == "Namespace"], job
    )
    assert reaches(ray_client, "Failed"), state(ray_client)
    assert state(ray_client)["reason"] == "PreRunningDeadlineExceeded"


def test_a_job_that_breaks_the_operators_rules_fails_validation(ray_client: Client) -> None:
    job = deployed("RayJob")
    job["spec"]["ttlSecondsAfterFinished"] = 60
    ray_client.apply(
        node("system-1"), *operator(), *[obj for obj in deployed_objects() if obj["kind"] == "Namespace"], job
    )
    assert reaches(ray_client, "ValidationFailed"), state(ray_client)
    assert "cannot have TTLSecondsAfterFinished" in state(ray_client)["message"]


RULES: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"submissionMode": "Bogus"}, "submissionMode is unknown"),
    "suspend": ({"suspend": True}, "not allowed to be suspended"),
    "suspend with selector": ({"suspend": True, "shutdownAfterJobFinishes": True}, "doesn't support the suspend"),
    "no cluster": ({"clusterSelector": {}}, "one of RayClusterSpec or ClusterSelector must be set"),
    "other key": ({"clusterSelector": {"app": "ray"}}, "must have a non-empty ray.io/cluster"),
    "sidecar": ({"submissionMode": "SidecarMode"}, "ClusterSelector is not supported in SidecarMode"),
    "retries": ({"backoffLimit": 1}, "BackoffLimit is incompatible with ClusterSelector"),
    "deadline": ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds must be a positive integer"),
    "pre-running": ({"preRunningDeadlineSeconds": -1}, "preRunningDeadlineSeconds must be a positive integer"),
    "deletion of the cluster": (
        {"deletionStrategy": {"deletionRules": [{"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}]}},
        "DeleteCluster and DeleteWorkers are not supported",
    ),
    "both deletions": (
        {"deletionStrategy": {"deletionRules": [{"policy": "DeleteSelf"}], "onSuccess": {"policy": "DeleteSelf"}}},
        "cannot be used together",
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_ray_job_rules(case: str) -> None:
    fields, message = RULES[case]
    job = deployed("RayJob")
    assert ray_job_fault(job) == ""
    job["spec"] |= fields
    assert message in ray_job_fault(job)


def test_ray_job_names() -> None:
    job = deployed("RayJob")
    for name in ("x" * 48, "1st"):
        job["metadata"]["name"] = name
        assert "DNS-1035 label of no more than 47" in ray_job_fault(job)


def _group(cluster: Object) -> Object:
    group: Object = cluster["spec"]["workerGroupSpecs"][0]
    return group


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cluster: cluster["metadata"].update(name="x" * 54), "no more than 53"),
        (lambda cluster: _group(cluster).pop("minReplicas"), "must be set without autoscaling"),
        (lambda cluster: _group(cluster).update(minReplicas=9), "minReplicas greater than maxReplicas"),
        (lambda cluster: cluster["spec"]["workerGroupSpecs"].append(_group(cluster)), "unique groupNames"),
    ],
)
def test_ray_cluster_rules(change: Callable[[Object], Any], message: str) -> None:
    cluster = deployed("RayCluster")
    assert ray_cluster_fault(cluster) == ""
    change(cluster)
    assert message in ray_cluster_fault(cluster)
