"""Where charts come from: a given folder, a repository that answers, a stand-in."""

import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cloud import chart_sources
from rehearsal.cloud.chart_sources import STAND_INS, Charts, charts_of
from rehearsal.cloud.errors import RefusedError
from tests.rehearsal_cloud.chart_repository import served


def a_chart(folder: Path, version: str) -> Path:
    chart = folder / "kuberay-operator"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"name: kuberay-operator\nversion: {version}\n")
    return chart


def test_a_given_folder_goes_before_a_repository_that_answers(tmp_path: Path, repository: str) -> None:
    notes: list[str] = []
    chart = a_chart(tmp_path, "1.7.0")
    chosen = Charts(tmp_path, notes.append).choose(repository, "kuberay-operator", "v1.7.0")
    assert chosen["chart"] == str(chart)
    assert notes == [f"chart kuberay-operator v1.7.0: from {chart}, for --charts goes before the repository"]


def test_a_given_folder_without_the_chart_leaves_it_to_the_repository(tmp_path: Path, repository: str) -> None:
    chosen = Charts(tmp_path, note=lambda reason: None).choose(repository, "kuberay-operator", "9.9.9")
    assert chosen["chart"] is None


def test_a_given_chart_of_another_version_is_refused(tmp_path: Path, repository: str) -> None:
    a_chart(tmp_path, "1.6.0")
    with pytest.raises(RefusedError, match=r"is version 1.6.0, 1.7.0 is wanted"):
        Charts(tmp_path, note=lambda reason: None).choose(repository, "kuberay-operator", "1.7.0")


def test_the_stand_ins_may_be_given_and_have_every_version(repository: str) -> None:
    notes: list[str] = []
    chosen = Charts(STAND_INS, notes.append).choose(repository, "kuberay-operator", "1.7.0")
    assert chosen["chart"] == str(STAND_INS / "kuberay-operator")
    why = "not the real one (--charts names the stand-ins)"
    assert notes == [f"STAND-IN for the chart kuberay-operator 1.7.0: {why}"]


def test_no_repository_is_asked_for_a_chart_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_chart(tmp_path, "1.7.0")
    asked: list[str] = []

    def ask(url: str, probe: chart_sources.Probe) -> None:
        asked.append(url)
        probe.done.set()

    monkeypatch.setattr(chart_sources, "_ask", ask)
    charts = Charts(tmp_path, note=lambda reason: None)
    charts.look_at([("http://given.example", "kuberay-operator"), ("http://other.example", "nvidia-device-plugin")])
    charts.choose("http://given.example", "kuberay-operator", "1.7.0")
    charts.choose("http://other.example", "nvidia-device-plugin", "1")
    assert asked == ["http://other.example"]


def test_repositories_are_asked_once_and_at_the_same_time() -> None:
    together, asked = threading.Barrier(3, timeout=30), []

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            # One after the other, nobody would get past it.
            together.wait()
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with served(Slow) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chart_sources, "MOST_SECONDS", 30.0)
        charts = Charts(None, note=lambda reason: None)
        names = [f"{url}/{name}" for name in ("one", "two", "three")]
        charts.look_at((name, "kuberay-operator") for name in names)
        assert [charts.choose(name, "kuberay-operator", "1")["chart"] for name in [*names, *names]] == [None] * 6
    assert sorted(asked) == ["/one/index.yaml", "/three/index.yaml", "/two/index.yaml"]


def test_a_repository_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    class Hanging(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            over.wait(30)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    monkeypatch.setattr(chart_sources, "MOST_SECONDS", 0.1)
    notes: list[str] = []
    with served(Hanging) as url:
        chosen = Charts(None, notes.append).choose(url, "kuberay-operator", "1")
        over.set()
    assert chosen["chart"] == str(STAND_INS / "kuberay-operator")
    assert "no answer" in notes[0] or "timed out" in notes[0]


@pytest.mark.parametrize("status", [403, 503])
def test_a_repository_that_fails_is_replaced_by_the_stand_in(status: int) -> None:
    class Failing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    notes: list[str] = []
    with served(Failing) as url:
        chosen = Charts(None, notes.append).choose(url, "kuberay-operator", "1")
    assert chosen["chart"] == str(STAND_INS / "kuberay-operator")
    assert notes[0].startswith(f"STAND-IN for the chart kuberay-operator 1: not the real one ({url}: ")


def test_helm_pulls_with_the_machines_proxies(monkeypatch: pytest.MonkeyPatch, repository: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "internal")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    given = Charts(None, note=lambda reason: None).choose(repository, "kuberay-operator", "9.9.9")["environment"]
    assert given.items() >= {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "internal"}.items()
    assert "AWS_PROFILE" not in given


def test_the_charts_of_a_template_are_those_that_it_names_literally() -> None:
    chart = "Custom::AWSCDK-EKS-HelmChart"
    assert charts_of(
        {
            "One": {"Type": chart, "Properties": {"Repository": "https://charts.example", "Chart": "one"}},
            "Same": {"Type": chart, "Properties": {"Repository": "https://charts.example", "Chart": "one"}},
            "Token": {"Type": chart, "Properties": {"Repository": {"Ref": "Parameter"}, "Chart": "two"}},
            "Registry": {"Type": chart, "Properties": {"Repository": "oci://charts.example", "Chart": "three"}},
            "Asset": {"Type": chart},
            "Other": {"Type": "AWS::S3::Bucket", "Properties": {"Repository": "https://other.example"}},
        }
    ) == {("https://charts.example", "one")}
