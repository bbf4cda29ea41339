"""What CI runs: the steps of `.ci/run`, and the workflows that call the scripts of .ci/."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.unit.ci_scripts import CI, ROOT, clean

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def fake_make(tmp_path: Path) -> Path:
    """A folder with a `make` that writes down its target and fails at the one named in FAIL."""
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/targets\nread line && exit 9\n[ "$1" != "$FAIL" ] || exit 3\n')
    make.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("fail", "targets", "status"),
    [("", ["setup", "check", "test"], 0), ("check", ["setup", "check"], 3)],
)
def test_ci_runs_the_steps_in_turn_and_stops_at_the_first_failure(
    fake_make: Path, fail: str, targets: list[str], status: int
) -> None:
    variables = {"PATH": f"{fake_make}:{os.environ['PATH']}", "FAIL": fail, "GITHUB_ACTIONS": "true", "CI": "true"}
    done = subprocess.run(
        [CI / "run"], env={**clean(), **variables}, input="not for make\n", capture_output=True, text=True
    )

    assert done.returncode == status, done.stderr
    assert (fake_make / "targets").read_text().split() == targets
    assert re.findall(r"^::group::make (\w+)$", done.stdout, flags=re.MULTILINE) == targets
    assert done.stdout.count("::endgroup::") == len(targets)
    outcomes = re.findall(r"^== make (\w+): (\w+) (?:in|after) \d+ s$", done.stdout, flags=re.MULTILINE)
    assert outcomes == [(target, "failed" if target == fail else "passed") for target in targets]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_asks_for_no_more_than_it_uses(path: Path) -> None:
    workflow = yaml.load(path.read_text(), yaml.BaseLoader)  # where `on` stays a word
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    allowed = {
        "ci.yml": {"contents": "read"},
        "diff.yml": {"contents": "read", "id-token": "write", "pull-requests": "write"},
    }

    assert used
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)] == []
    assert workflow["permissions"] == allowed[path.name]
    assert "pull_request_target" not in workflow["on"]
    assert workflow["concurrency"]["cancel-in-progress"] == "true"
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    scripts = {name for step in steps for name in re.findall(r"\.ci/\w+", step.get("run", ""))}
    assert scripts
    assert [name for name in scripts if not os.access(ROOT / name, os.X_OK)] == []
