"""Where pods go, and what is said of those that go nowhere."""

from typing import Any

import pytest

from tests.rehearsal_kubernetes.clients import Client, Object, device_plugin, eventually, gpu_node, node

PODS = "/api/v1/namespaces/default/pods"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def pod(
    name: str, *, requests: dict[str, str] | None = None, labels: dict[str, str] | None = None, **spec: Any
) -> Object:
    resources = {"requests": requests or {}, "limits": requests or {}}
    container = {"name": "main", "image": "image", "resources": resources}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"containers": [container], **spec}}


def nodes_of(client: Client) -> dict[str, str]:
    """The node of every pod in the default namespace, empty while it has none."""
    items = client.request("GET", PODS)[1]["items"]
    return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in items}


def placed(client: Client, expected: dict[str, str]) -> bool:
    return bool(eventually(lambda: nodes_of(client) == expected))


def pending(client: Client) -> dict[str, str]:
    return {entry["name"]: entry["message"] for entry in client.request("GET", "/rehearsal/pending")[1]}


def says(client: Client, name: str, message: str) -> bool:
    return bool(eventually(lambda: pending(client).get(name) == message))


def add(client: Client, *nodes: Object) -> None:
    for entry in nodes:
        client.create("/api/v1/nodes", entry)


def priority(client: Client, name: str, value: int, policy: str = "PreemptLowerPriority") -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    client.create(path, {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})


def test_reasons_for_pending(client: Client) -> None:
    client.create(PODS, pod("early"))
    assert says(client, "early", "no nodes available to schedule pods")
    add(client, node("system-1"), gpu_node("gpu-1"), gpu_node("gpu-2"))
    assert placed(client, {"early": "system-1"})

    client.create(PODS, pod("gpus", requests={"nvidia.com/gpu": "4"}, tolerations=[TOLERATION]))
    assert says(client, "gpus", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")
    client.create(PODS, pod("nowhere", nodeSelector={"role": "other"}))
    taints = "2 node(s) had untolerated taint {nvidia.com/gpu: present}"
    assert says(
        client, "nowhere", f"0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, {taints}."
    )
    client.create(PODS, pod("large", requests={"cpu": "10", "memory": "1Ti"}))
    assert says(client, "large", f"0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, {taints}.")
    condition = client.request("GET", f"{PODS}/large")[1]["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")


def test_devices_come_and_go_with_their_plugins(client: Client) -> None:
    add(client, gpu_node("gpu-1"))
    request = {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}
    client.create(PODS, pod("worker", requests=request, tolerations=[TOLERATION]))
    both = "1 Insufficient nvidia.com/gpu, 1 Insufficient vpc.amazonaws.com/efa"
    assert says(client, "worker", f"0/1 nodes are available: {both}.")
    daemon_sets = "/apis/apps/v1/namespaces/kube-system/daemonsets"
    client.create(daemon_sets, device_plugin("nvidia-device-plugin"))
    assert says(client, "worker", "0/1 nodes are available: 1 Insufficient vpc.amazonaws.com/efa.")
    client.create(daemon_sets, device_plugin("aws-efa-k8s-device-plugin"))
    assert placed(client, {"worker": "gpu-1"})
    status = client.request("GET", f"{daemon_sets}/nvidia-device-plugin")[1]["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (1, 1)

    client.request("DELETE", f"{daemon_sets}/nvidia-device-plugin")
    path = "/api/v1/nodes/gpu-1"
    assert eventually(lambda: client.request("GET", path)[1]["status"]["allocatable"]["nvidia.com/gpu"] == "0")


def test_pods_fill_a_node_and_wait_for_room(client: Client) -> None:
    add(client, node("system-1"))
    for name in ("first", "second"):
        client.create(PODS, pod(name, requests={"cpu": "3"}))
    assert says(client, "second", "0/1 nodes are available: 1 Insufficient cpu.")
    client.request("DELETE", f"{PODS}/first")
    assert placed(client, {"second": "system-1"})


def test_the_largest_init_container_counts(client: Client) -> None:
    add(client, node("system-1"))
    init = {"name": "init", "image": "image", "resources": {"requests": {"cpu": "5"}}}
    client.create(PODS, pod("pod", requests={"cpu": "1"}, initContainers=[init]))
    assert says(client, "pod", "0/1 nodes are available: 1 Insufficient cpu.")


def test_anti_affinity_keeps_pods_apart(client: Client) -> None:
    add(client, node("system-1"))
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    client.create(PODS, pod("one", labels={"app": "x"}, affinity=affinity))
    assert placed(client, {"one": "system-1"})
    client.create(PODS, pod("two", labels={"app": "x"}, affinity=affinity))
    assert says(client, "two", "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.")
    add(client, node("system-2"))
    assert placed(client, {"one": "system-1", "two": "system-2"})


def test_node_affinity_decides_where_daemons_run(client: Client) -> None:
    add(client, node("system-1"), gpu_node("gpu-1"))
    expression = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.12xlarge"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    daemon_set = device_plugin("by-affinity")
    spec = daemon_set["spec"]["template"]["spec"]
    del spec["nodeSelector"]
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    client.create("/apis/apps/v1/namespaces/kube-system/daemonsets", daemon_set)
    path = "/api/v1/namespaces/kube-system/pods"

    def where() -> list[str]:
        return [item["spec"].get("nodeName", "") for item in client.request("GET", path)[1]["items"]]

    assert eventually(lambda: where() == ["gpu-1"]), where()


@pytest.mark.parametrize(("policy", "evicts"), [("PreemptLowerPriority", True), ("Never", False)])
def test_higher_priority_evicts_lower(client: Client, policy: str, evicts: bool) -> None:
    add(client, node("system-1"), node("system-2"))
    priority(client, "low", 1000)
    priority(client, "high", 2000, policy)
    client.create(PODS, pod("important", requests={"cpu": "3"}, priorityClassName="high"))
    assert placed(client, {"important": "system-1"})
    client.create(PODS, pod("small", requests={"cpu": "500m"}, priorityClassName="low"))
    client.create(PODS, pod("victim", requests={"cpu": "3"}, priorityClassName="low"))
    assert placed(client, {"important": "system-1", "small": "system-1", "victim": "system-2"})
    client.create(PODS, pod("urgent", requests={"cpu": "3"}, priorityClassName="high"))
    if evicts:
        assert placed(client, {"important": "system-1", "small": "system-1", "urgent": "system-2"})
    else:
        assert says(client, "urgent", "0/2 nodes are available: 2 Insufficient cpu.")
        assert nodes_of(client)["victim"] == "system-2"


def test_pods_of_a_lost_node_go_and_a_cordoned_node_takes_none(client: Client) -> None:
    add(client, node("system-1"))
    client.create(PODS, pod("pod"))
    client.create(PODS, pod("ended"))
    assert placed(client, {"pod": "system-1", "ended": "system-1"})
    ended = {"status": {"phase": "Succeeded"}}
    assert client.request("PATCH", f"{PODS}/ended/status", ended, "application/merge-patch+json")[0] == 200
    client.kubectl("cordon", "system-1")
    client.create(PODS, pod("late"))
    assert says(client, "late", "0/1 nodes are available: 1 node(s) were unschedulable.")
    client.request("DELETE", "/api/v1/nodes/system-1")
    assert placed(client, {"late": ""})


def test_a_pod_waits_for_the_config_map_it_mounts(client: Client) -> None:
    add(client, node("system-1"))
    client.create(PODS, pod("pod", volumes=[{"name": "code", "configMap": {"name": "train"}}]))
    assert says(client, "pod", 'MountVolume.SetUp failed for volume "code": configmap "train" not found')
    client.kubectl("create", "configmap", "train")
    assert eventually(lambda: client.request("GET", f"{PODS}/pod")[1]["status"]["phase"] == "Running")
