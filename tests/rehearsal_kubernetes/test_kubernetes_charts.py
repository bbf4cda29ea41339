"""The charts under the values of the Platform stack: the stand-ins, or the real ones in the folder HELM_CHARTS."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_ray_train.checks.node_capacity import Amounts
from eks_ray_train.checks.pods import DAEMONS_ON_GPU_NODES, SYSTEM_PODS
from rehearsal.kubernetes import ApiServer
from rehearsal.kubernetes.api.quantities import pod_requests
from tests.rehearsal_kubernetes.clients import STAND_INS, Client, Object, charts_folder, eventually, gpu_node, node
from tests.synthesis import manifests, resources, templates

NVIDIA, EFA, KUBERAY = CHARTS = ("nvidia-device-plugin", "aws-efa-k8s-device-plugin", "kuberay-operator")


def platform(chart: str) -> Object:
    """Return the properties of a chart of dev, its values read."""
    for resource in resources(templates("dev")["Platform"], "Custom::AWSCDK-EKS-HelmChart").values():
        properties: Object = resource["Properties"]
        if properties["Chart"] == chart:
            return {**properties, "Values": json.loads(properties["Values"])}
    raise AssertionError(chart)


def strangers() -> list[Object]:
    """Return nodes that are not dev's: each lacks one of what a pod of the charts asks of a node."""
    other = gpu_node("other-group")
    del other["metadata"]["labels"]["role"]
    without_efa = gpu_node("without-efa")
    without_efa["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "g6.xlarge"
    automatic = gpu_node("automatic")
    automatic["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "auto"
    # The scheduler takes the first that fits, by name.
    plain = node("a-plain-one")
    del plain["metadata"]["labels"]["role"]
    return [other, without_efa, automatic, plain]


def upgrade(client: Client, folder: Path, chart: str, *options: str, source: Path | None = None) -> str:
    """Install a chart, or upgrade it, as CDK's handler does."""
    properties = platform(chart)
    values = folder / f"{chart}.json"
    values.write_text(json.dumps(properties["Values"]))
    where = ("--namespace", properties["Namespace"], "--create-namespace")
    wait = ("--install", "--wait", "--timeout", "20s")
    what = (properties["Release"], str((source or charts_folder()) / chart), "--values", str(values))
    return client.helm("upgrade", *what, *where, *wait, *options)


@pytest.fixture(scope="module")
def installed(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A cluster of dev's nodes and of strangers, with the three charts."""
    folder = tmp_path_factory.mktemp("charts")
    with ApiServer() as server:
        client = Client(tools, server.url, folder)
        client.apply(node("system-1"), gpu_node("gpu-1"), gpu_node("gpu-2"), *strangers())
        for chart in CHARTS:
            upgrade(client, folder, chart)
        yield client


def pods(client: Client) -> list[Object]:
    """Return the pods of all charts."""
    found: list[Object] = client.get("pods", "-A")["items"]
    return found


def nodes_of(client: Client, owner: str) -> set[str]:
    """Return where the pods of a DaemonSet or ReplicaSet run."""
    return {pod["spec"]["nodeName"] for pod in pods(client) if owner_of(pod).startswith(owner)}


def owner_of(pod: Object) -> str:
    (owner,) = pod["metadata"]["ownerReferences"]
    return str(owner["name"])


def requests(found: list[Object]) -> Amounts:
    """Return what pods ask for together, in the units of the checks."""
    sums = [pod_requests(pod["spec"]) for pod in found]
    cpu, memory = (sum(amounts.get(name, 0) for amounts in sums) for name in ("cpu", "memory"))
    return Amounts(cpu_m=int(cpu * 1000), memory_mib=int(memory / 1024**2), pods=len(found))


@pytest.mark.failure_mode("E1")
@pytest.mark.failure_mode("E2")
@pytest.mark.failure_mode("E3")
def test_the_plugins_run_on_the_nodes_that_they_serve_and_on_no_other(installed: Client) -> None:
    assert nodes_of(installed, EFA) == {"gpu-1", "gpu-2"}
    # It says nothing of EFA: a GPU node of ours is one whatever its type.
    assert nodes_of(installed, NVIDIA) == {"gpu-1", "gpu-2", "without-efa", "automatic"}
    allocatable = {
        entry["metadata"]["name"]: entry["status"]["allocatable"] for entry in installed.get("nodes")["items"]
    }
    devices = ("nvidia.com/gpu", "vpc.amazonaws.com/efa")
    assert [allocatable["gpu-1"][device] for device in devices] == ["4", "1"]
    assert [allocatable["other-group"][device] for device in devices] == ["0", "0"]


def test_the_operator_runs_on_the_system_node_alone(installed: Client) -> None:
    assert nodes_of(installed, KUBERAY) == {"system-1"}
    assert installed.request("GET", "/rehearsal/pending")[1] == []


def test_the_settings_checks_know_what_the_pods_ask_for(installed: Client) -> None:
    on_gpu_node = [pod for pod in pods(installed) if pod["spec"]["nodeName"] == "gpu-1"]
    # The third is dcgm-server, which asks for nothing and comes with an add-on of EKS.
    assert requests(on_gpu_node) == replace(DAEMONS_ON_GPU_NODES, pods=2)
    (operator,) = (pod for pod in pods(installed) if pod["spec"]["nodeName"] == "system-1")
    assert requests([operator]) == next(pod.requests for pod in SYSTEM_PODS if pod.name == KUBERAY)


def test_the_values_reach_the_containers(installed: Client) -> None:
    containers = {owner_of(pod): pod["spec"]["containers"][0] for pod in pods(installed)}
    operator = next(container for owner, container in containers.items() if owner.startswith(KUBERAY))
    assert operator["env"] == platform(KUBERAY)["Values"]["env"]
    assert containers[EFA]["image"].startswith(f"{platform(EFA)['Values']['image']['repository']}:")


def test_the_network_policy_lets_the_operator_in(installed: Client) -> None:
    training = [obj for obj in manifests(templates("dev")["Training"]) if obj["kind"] == "NetworkPolicy"]
    (policy,) = (obj for obj in training if obj["metadata"]["name"] == "operator-to-dashboard")
    (source,) = policy["spec"]["ingress"][0]["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": platform(KUBERAY)["Namespace"]}
    (operator,) = (pod for pod in pods(installed) if owner_of(pod).startswith(KUBERAY))
    assert source["podSelector"]["matchLabels"].items() <= operator["metadata"]["labels"].items()


@pytest.mark.parametrize("chart", CHARTS)
def test_the_chart_has_every_value_that_we_set(chart: str) -> None:
    known = yaml.safe_load((charts_folder() / chart / "values.yaml").read_text())
    assert unknown(platform(chart)["Values"], known) == []


def unknown(given: Object, known: Any) -> list[str]:
    """Return the keys of values that a chart's own lack; a map that is empty there takes any."""
    if not known:
        return []
    found = [name for name in given if name not in known]
    nested = [name for name in given if isinstance(given[name], dict) and name not in found]
    return found + [f"{name}.{key}" for name in nested for key in unknown(given[name], known[name])]


@pytest.mark.parametrize(
    ("chart", "misspelt"),
    [(NVIDIA, "nodeSelectors"), (EFA, "supportedInstanceLabel"), (KUBERAY, "envs"), (EFA, "image.registry")],
)
def test_a_value_that_a_stand_in_does_not_know_is_refused(
    client: Client, tmp_path: Path, chart: str, misspelt: str
) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        upgrade(client, tmp_path, chart, "--set", f"{misspelt}=x", source=STAND_INS)
    assert f"additional properties '{misspelt.rpartition('.')[2]}' not allowed" in caught.value.output


def test_an_empty_list_of_instance_types_is_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        upgrade(client, tmp_path, EFA, "--set-json", "supportedInstanceLabels.values=[]")
    assert "values: Required value: must be specified when `operator` is 'In' or 'NotIn'" in caught.value.output


@pytest.mark.failure_mode("D5")
def test_upgrades_that_change_nothing_touch_nothing_and_uninstall_leaves_the_crds(
    client: Client, tmp_path: Path
) -> None:
    client.apply(node("system-1"), gpu_node("gpu-1"))

    def there(kinds: str) -> dict[str, str]:
        items = client.get(kinds, "-A")["items"]
        return {f"{obj['kind']}/{obj['metadata']['name']}": obj["metadata"]["resourceVersion"] for obj in items}

    kinds = "all,customresourcedefinitions,clusterroles,clusterrolebindings,roles,rolebindings"
    for chart in CHARTS:
        upgrade(client, tmp_path, chart)
    before = there(kinds)
    for chart in CHARTS:
        assert "REVISION: 2" in upgrade(client, tmp_path, chart)
    assert there(kinds) == before
    for chart in CHARTS:
        client.helm("uninstall", chart, "--namespace", platform(chart)["Namespace"], "--wait", "--timeout", "20s")
    assert eventually(lambda: {name.split("/")[0] for name in there(kinds)} == {"CustomResourceDefinition"}), there(
        kinds
    )
