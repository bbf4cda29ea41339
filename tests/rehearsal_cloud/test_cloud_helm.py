"""The real helm, as CDK's handler calls it: charts from a repository, or stand-ins that say so."""

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.cloud import Cloud
from rehearsal.cloud.chart_sources import STAND_INS, Charts
from rehearsal.cloud.functions import environment
from rehearsal.cloud.functions.helm import NotPulledError, pull
from rehearsal.kubernetes import ApiServer
from tests.rehearsal_cloud.chart_repository import Quiet, served

WRAPPER = Path(environment.__file__).with_name("helm.py")


@pytest.fixture
def noted(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The account's charts, all choices open again; what they note."""
    notes: list[str] = []
    monkeypatch.setattr(cloud.account, "charts", Charts(None, notes.append))
    return notes


def run(cloud: Cloud, real: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Call helm as CDK's handler does."""
    given = {
        "AWS_ENDPOINT_URL": cloud.endpoint,
        "HELM_REHEARSAL_REAL": str(real),
        "TMPDIR": str(real.parent),
        **variables,
    }
    command = [sys.executable, "-I", str(WRAPPER), *arguments]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60)


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """Something in helm's place that says what it was called with."""
    script = tmp_path / "echo"
    script.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    script.chmod(0o700)
    return script


@pytest.fixture
def cluster_api(tmp_path: Path) -> Iterator[tuple[ApiServer, dict[str, str]]]:
    """A Kubernetes API, and the variables by which helm finds it."""
    with ApiServer() as server:
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "c", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "current-context": "c",
        }
        (tmp_path / "config").write_text(json.dumps(kubeconfig))
        yield server, {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "config")}


def test_the_real_helm_installs_a_chart_from_its_repository_with_its_crds(
    cloud: Cloud, helm: Path, repository: str, noted: list[str], cluster_api: tuple[ApiServer, dict[str, str]]
) -> None:
    server, variables = cluster_api
    install = ["upgrade", "operator", "kuberay-operator", "--install", "--repo", repository, "--version", "9.9.9"]
    done = run(cloud, helm, *install, **variables)
    assert done.returncode == 0, done.stderr
    api = server.cluster.api
    crds = api.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    maps = api.resources.find("", "v1", "configmaps")
    assert api.get(crds, "", "widgets.example.com")["spec"]["group"] == "example.com"
    labels = api.get(maps, "default", "from-the-repository")["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "Helm"
    assert noted == [f"chart kuberay-operator 9.9.9: from its repository {repository}"]


def test_a_version_that_the_repository_lacks_fails_by_name(
    cloud: Cloud, helm: Path, repository: str, noted: list[str], cluster_api: tuple[ApiServer, dict[str, str]]
) -> None:
    wanted = ["upgrade", "r", "kuberay-operator", "--install", "--repo", repository, "--version", "1.0.0"]
    done = run(cloud, helm, *wanted, **cluster_api[1])
    assert done.returncode != 0
    assert f'chart "kuberay-operator" version "1.0.0" not found in {repository} repository: correct the' in done.stderr
    assert noted == []


@pytest.mark.parametrize("what", ["chart that it does not hand over", "index that is none"])
def test_a_stand_in_takes_the_place_of_what_a_repository_promises(
    cloud: Cloud, helm: Path, tmp_path: Path, noted: list[str], cluster_api: tuple[ApiServer, dict[str, str]], what: str
) -> None:
    entry = {"apiVersion": "v2", "name": "kuberay-operator", "version": "1.7.0", "urls": ["gone.tgz"]}
    index = {"apiVersion": "v1", "entries": {"kuberay-operator": [entry]}}
    (tmp_path / "index.yaml").write_text(json.dumps(index) if "chart" in what else "<html>Sign in</html>")
    wanted = ["upgrade", "kuberay-operator", "kuberay-operator", "--install", "--version", "1.7.0"]
    with served(functools.partial(Quiet, directory=str(tmp_path))) as url:
        done = run(cloud, helm, *wanted, "--repo", url, **cluster_api[1])
    assert done.returncode == 0, done.stderr
    (said,) = noted
    assert said.startswith(f"STAND-IN for the chart kuberay-operator 1.7.0: not the real one ({url}: ")
    assert ("gone.tgz : 404" if "chart" in what else "cannot unmarshal") in said


def test_a_repository_that_answers_and_then_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hanging = tmp_path / "hanging"
    hanging.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(300)\n")
    hanging.chmod(0o700)
    with pytest.raises(NotPulledError, match=r"no chart within 0\.2 s, though its index answers"):
        pull(str(hanging), {}, "http://repository.example", "kuberay-operator", "1.7.0", seconds=0.2)


@pytest.mark.parametrize("name", ["aws-efa-k8s-device-plugin", "kuberay-operator", "nvidia-device-plugin"])
def test_a_stand_in_takes_the_place_of_what_cannot_be_reached(
    cloud: Cloud, echo: Path, closed: str, noted: list[str], name: str
) -> None:
    done = run(cloud, echo, "upgrade", "r", name, "--repo", closed, "--version", "1")
    assert json.loads(done.stdout) == ["upgrade", "r", str(STAND_INS / name), "--version", "1"]
    (said,) = noted
    assert said.startswith(f"STAND-IN for the chart {name} 1: not the real one ({closed}: ")
    assert "Connection refused" in said


def test_a_chart_that_nobody_has_is_named(cloud: Cloud, echo: Path, closed: str, noted: list[str]) -> None:
    done = run(cloud, echo, "upgrade", "r", "unknown", "--repo", closed)
    assert done.returncode != 0
    assert "no chart unknown" in done.stderr and "put its folder into --charts" in done.stderr


def test_other_commands_pass_through(cloud: Cloud, echo: Path, noted: list[str]) -> None:
    done = run(cloud, echo, "uninstall", "r", "--wait")
    assert json.loads(done.stdout) == ["uninstall", "r", "--wait"] and noted == []
