"""What CDK's helm handler does, with the real helm and the smallest chart."""

import subprocess
from pathlib import Path

import pytest

from tests.rehearsal_kubernetes.clients import Client, eventually, gpu_node, node

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: kuberay-operator\nversion: 1.0.0\n",
    "values.yaml": "image: operator:1\nnote: written\nnodeSelector: {role: system}\n",
    "templates/operator.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      nodeSelector: {{ toJson .Values.nodeSelector }}
      serviceAccountName: operator
      containers: [{name: operator, image: "{{ .Values.image }}"}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      containers: [{name: agent, image: "{{ .Values.image }}"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {image: "{{ .Values.image }}"{{ if .Values.note }}, note: "{{ .Values.note }}"{{ end }}}
""",
}
WHERE = ("--namespace", "kuberay-system")
# As CDK's handler calls it.
WAIT = ("--install", "--create-namespace", *WHERE, "--wait", "--timeout", "20s")


@pytest.fixture
def chart(tmp_path: Path) -> str:
    for name, text in CHART.items():
        path = tmp_path / "chart" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path / "chart")


def images(client: Client) -> set[str]:
    pods = client.get("pods", *WHERE)["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in pods if pod["status"]["phase"] == "Running"}


def test_install_upgrade_and_uninstall_wait_for_pods(client: Client, chart: str) -> None:
    client.apply(node("system-1"), gpu_node("gpu-1"))
    assert "STATUS: deployed" in client.helm("upgrade", "kuberay-operator", chart, *WAIT)
    # The GPU node's taint keeps the DaemonSet away, so one pod each.
    assert len(client.get("pods", *WHERE)["items"]) == 2

    client.helm("upgrade", "kuberay-operator", chart, *WAIT, "--set", "image=operator:2,note=")
    assert eventually(lambda: images(client) == {"operator:2"}), images(client)
    assert client.get("configmap", "notes", *WHERE)["data"] == {"image": "operator:2"}
    assert "STATUS: deployed\nREVISION: 2" in client.helm("status", "kuberay-operator", *WHERE)

    client.helm("uninstall", "kuberay-operator", *WHERE, "--wait", "--timeout", "20s")
    assert eventually(lambda: client.get("all", *WHERE)["items"] == [])
    assert client.helm("list", *WHERE, "-q") == ""


def test_wait_fails_when_the_pods_find_no_node(client: Client, chart: str) -> None:
    client.apply(gpu_node("gpu-1"))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        client.helm(
            "upgrade",
            "kuberay-operator",
            chart,
            "--install",
            *WHERE,
            "--create-namespace",
            "--wait=watcher",
            "--timeout",
            "1s",
        )
    assert "deadline exceeded" in caught.value.output
    (pending,) = client.request("GET", "/rehearsal/pending")[1]
    assert pending["message"].startswith("0/1 nodes are available: 1 node(s) had untolerated taint")
