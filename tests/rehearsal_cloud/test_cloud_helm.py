"""What stands before helm: repositories become folders, and stand-ins say so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cloud.functions import environment

WRAPPER = Path(environment.__file__).with_name("helm.py")
REPOSITORY = ["--repo", "https://charts.example"]


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    real = tmp_path / "real"
    real.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    real.chmod(0o700)
    given = {
        "HELM_REHEARSAL_CHARTS": os.pathsep.join([str(tmp_path / "charts"), str(environment.STAND_INS)]),
        "HELM_REHEARSAL_REAL": str(real),
        "HELM_REHEARSAL_STAND_INS": str(environment.STAND_INS),
    }
    command = [sys.executable, "-I", str(WRAPPER), *arguments]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=30)


def chart(tmp_path: Path, version: str) -> Path:
    folder = tmp_path / "charts" / "kuberay-operator"
    folder.mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"name: kuberay-operator\nversion: {version}\n")
    return folder


def test_a_given_chart_is_used(tmp_path: Path) -> None:
    folder = chart(tmp_path, "1.7.0")
    done = run(tmp_path, "upgrade", "r", "kuberay-operator", "--install", *REPOSITORY, "--version", "v1.7.0")
    assert json.loads(done.stdout) == ["upgrade", "r", str(folder), "--install", "--version", "v1.7.0"]


def test_a_chart_of_another_version_is_refused(tmp_path: Path) -> None:
    chart(tmp_path, "1.6.0")
    done = run(tmp_path, "upgrade", "r", "kuberay-operator", *REPOSITORY, "--version", "1.7.0")
    assert done.returncode != 0 and "is version 1.6.0, 1.7.0 is wanted" in done.stderr


@pytest.mark.parametrize("name", ["aws-efa-k8s-device-plugin", "kuberay-operator", "nvidia-device-plugin"])
def test_a_stand_in_says_so(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "upgrade", "r", name, *REPOSITORY, "--version", "1")
    assert f"rehearsal: STAND-IN for the chart {name} 1" in done.stdout
    assert str(environment.STAND_INS / name) in done.stdout


def test_a_chart_that_nobody_has_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "upgrade", "r", "unknown", *REPOSITORY)
    assert done.returncode != 0 and "no chart unknown" in done.stderr


def test_other_commands_pass_through(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, "uninstall", "r", "--wait").stdout) == ["uninstall", "r", "--wait"]
