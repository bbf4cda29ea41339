"""`raytrain deploy` with the real CDK command line, Lambda code and templates, against the emulated account."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal.deployment import DEPLOY_SECONDS
from tests.rehearsal.deploying import Copy, bootstrapped_copy
from tests.rehearsal.watch import ROOT

GPU_TYPE = "g6.12xlarge"
A, B = "us-east-2a", "us-east-2b"


@dataclass
class World:
    """A copy of the app with `raytrain` in it, and the account that it deploys to."""

    app: Copy
    folder: Path

    def raytrain(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from ops.main import app; app()", *arguments],
            cwd=self.folder,
            env={**self.app._cdk._variables, "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEPLOY_SECONDS,
        )

    def capacity(self, lines: str) -> None:
        path = self.folder / "environments/dev.toml"
        path.write_text(re.sub(r"(?s)\[capacity\].*?\n\n", f"[capacity]\n{lines}\n\n", path.read_text()))

    @property
    def excluded(self) -> list[str]:
        document = tomllib.loads((self.folder / "environments/dev.toml").read_text())
        zones: list[str] = document["capacity"].get("exclude_zones", [])
        return zones


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("raytrain")
    with bootstrapped_copy(folder) as app:
        shutil.copytree(ROOT / "ops", folder / "app/ops", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "package.json", folder / "app")
        made = World(app, folder / "app")
        made.capacity('mode = "probe"')
        yield made


@pytest.mark.failure_mode("C2")
def test_capacity_that_vanishes_after_the_probe_leads_to_the_next_zone(world: World) -> None:
    world.app.tell("capacity/vanish", zone=A, instance_type=GPU_TYPE, after="CancelCapacityReservation")

    told = world.raytrain("deploy", "dev", "--yes")

    assert told.returncode == 0, told.stdout + told.stderr
    assert len(re.findall(r"(Network|Cluster|Gpu|Platform|Training) +create\n", told.stdout)) == 5
    assert "The Gpu stack failed: EC2 had no room for the nodes in the zone that was chosen." in told.stdout
    assert re.search(r"The Auto Scaling group's last error: Could not launch On-Demand Instances\. Insuff", told.stdout)
    assert f"{A} is now in capacity.exclude_zones of environments/dev.toml" in told.stdout
    assert world.excluded == [A]
    assert f"Deployed. GPU nodes: {B}; run: train-" in told.stdout
    assert world.app.zones["gpu-worker"] == [B, B]


def test_plain_synth_agrees_afterwards_but_for_the_job_that_a_change_replaces(world: World) -> None:
    world.app.edit("steps = 200", "steps = 100")

    told = world.raytrain("deploy", "dev", "--plan")

    assert told.returncode == 0, told.stdout + told.stderr
    assert len(re.findall(r"(Network|Cluster|Gpu|Platform) +unchanged\n", told.stdout)) == 4
    assert re.search(r"Training +update\n", told.stdout)
    (names,) = re.findall(r"The training job (train-\w+) is replaced by (train-\w+): if it still runs", told.stdout)
    assert names[0] != names[1]
    assert f"The GPU nodes are there, in {B}: capacity is not asked." in told.stdout


def test_the_same_search_before_anything_exists(world: World) -> None:
    told = world.raytrain("capacity", "dev", "--json", "--all-regions")

    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    answered = [found["region"] for found in document["regions"] if found["refused"] is None]
    assert len(answered) == 17
    assert {"us-east-2", "us-west-2"} <= set(answered)
    home = next(found for found in document["regions"] if found["region"] == "us-east-2")
    assert {zone["zone"]: zone["rejected"] for zone in home["zones"]}[A] == "excluded by the settings"
