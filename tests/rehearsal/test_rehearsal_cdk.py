"""The CDK command line: its pauses, its surroundings, its failures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cdk import SHORT_PAUSES, Cdk
from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses

NODE = Path(sys.executable).parent / "node"


@pytest.mark.parametrize(("asked", "given"), [(5000, 250), (2000, 250), (100, 100), (30_000, 30_000)])
def test_only_the_pauses_between_two_looks_are_shortened(asked: int, given: int) -> None:
    program = f"const t = setTimeout(() => 0, {asked}); console.log(t._idleTimeout); clearTimeout(t)"
    options = {"NODE_OPTIONS": f'--require "{SHORT_PAUSES}"'}
    ended = subprocess.run(
        [NODE, "-e", program], env=os.environ | options, capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.split() == [str(given)]


def test_the_users_own_aws_is_not_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://elsewhere")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    with OwnProcesses() as processes:
        cdk = Cdk(processes, tmp_path, {"AWS_ENDPOINT_URL": "http://localhost:1"}, tmp_path, print)
    found = {name: value for name, value in cdk._variables.items() if name.startswith("AWS_")}
    assert found == {"AWS_ENDPOINT_URL": "http://localhost:1"}


def test_a_cdk_command_that_fails_shows_its_error(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    npx = tmp_path / "bin/npx"
    npx.write_text('#!/bin/sh\necho "$@" >&2; echo "zone: expected one of these" >&2; echo "❌  Gpu failed"; exit 1\n')
    npx.chmod(0o755)
    shown: list[str] = []
    with pytest.MonkeyPatch.context() as patch, OwnProcesses() as processes:
        patch.setattr(sys, "executable", str(tmp_path / "bin/python"))
        with pytest.raises(RehearsalError) as raised:
            Cdk(processes, tmp_path, {}, tmp_path, shown.append).run("deploy", "--all", seconds=30)
    assert "exit code 1" in str(raised.value)
    assert "zone: expected one of these" in str(raised.value)
    assert "cdk deploy --all" in str(raised.value)
    assert shown == ["  | ❌  Gpu failed"]
