"""Jobs: their pods, their ends, and what is said of them."""

import json
import urllib.request
from typing import Any

from tests.rehearsal_kubernetes.clients import Client, Object, eventually, node

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def job(template: Object | None = None, **spec: Any) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "image"}]}
    return {"metadata": {"name": "job"}, "spec": {**spec, "template": {**(template or {}), "spec": pod}}}


def status(client: Client) -> Object:
    return dict(client.request("GET", f"{JOBS}/job")[1].get("status") or {})


def ended(client: Client, kind: str) -> Object | None:
    """The condition of a type, once it is there."""
    found = eventually(lambda: [entry for entry in status(client).get("conditions", []) if entry["type"] == kind])
    return found[0] if found else None


def statuses_since(client: Client, made: Object) -> list[Object]:
    """Every status that the Job has had."""
    version = made["metadata"]["resourceVersion"]
    url = f"{client.url}{JOBS}?watch=true&resourceVersion={version}&timeoutSeconds=1"
    with urllib.request.urlopen(url, timeout=15) as stream:
        return [json.loads(line)["object"].get("status") or {} for line in stream]


def test_completions_run_in_parallel_and_have_indices(client: Client) -> None:
    client.create("/api/v1/nodes", node("system-1"))
    made = client.create(JOBS, job(completions=3, parallelism=2, completionMode="Indexed"))
    assert (ended(client, "Complete") or {}).get("status") == "True"
    assert status(client)["succeeded"] == 3
    pods = client.request("GET", PODS)[1]["items"]
    indices = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in pods}
    assert (indices, {pod["status"]["phase"] for pod in pods}) == ({"0", "1", "2"}, {"Succeeded"})
    # Read afterwards from what a watch missed: who looks while they run may look too late.
    assert max(past.get("active", 0) for past in statuses_since(client, made)) == 2


def test_a_job_whose_pods_fail_fails(client: Client) -> None:
    client.create("/api/v1/nodes", node("system-1"))
    client.create(JOBS, job({"metadata": {"annotations": {"rehearsal/exit-code": "3"}}}, backoffLimit=0))
    assert (ended(client, "Failed") or {}).get("reason") == "BackoffLimitExceeded"
    assert status(client)["failed"] == 1


def test_a_job_that_finds_no_node_ends_at_its_deadline(client: Client) -> None:
    client.create(JOBS, job(activeDeadlineSeconds=1))
    assert (ended(client, "Failed") or {}).get("reason") == "DeadlineExceeded"
    assert eventually(lambda: client.request("GET", PODS)[1]["items"] == [])


def test_pods_that_are_refused_are_reported(client: Client) -> None:
    wrong = job()
    wrong["spec"]["template"]["spec"]["serviceAccountName"] = "missing"
    client.create(JOBS, wrong)
    (entry,) = eventually(lambda: client.request("GET", "/rehearsal/pending")[1])
    assert (entry["kind"], entry["name"], entry["reason"]) == ("Job", "job", "FailedCreate")
    assert 'serviceaccount "missing" not found' in entry["message"]
    client.request("DELETE", f"{JOBS}/job")
    assert client.request("GET", "/rehearsal/pending")[1] == []
