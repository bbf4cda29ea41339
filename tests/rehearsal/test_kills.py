"""What a kill leaves, in the middle of a rehearsal."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cloud.chart_sources import STAND_INS
from tests.rehearsal.assemblies import write_training_assembly
from tests.rehearsal.killing import kill
from tests.rehearsal.watch import ROOT


def deploying(folders: set[Path], output: str) -> bool:
    logs = [log for folder in folders for log in folder.glob("deploy-*.log")]
    return any("ray-train-dev-Network: creating" in log.read_text() for log in logs)


def asleep(folders: set[Path], output: str) -> bool:
    return "| asleep" in output


def test_a_kill_in_the_middle_of_a_deploy_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rehearsal", "--charts", str(STAND_INS), "--output", str(tmp_path / "out")]
    outcome = kill(command, tmp_path / "log", deploying)
    assert outcome.code == -signal.SIGKILL
    assert len(outcome.listened) >= 2, "the two API servers were not seen: the watch is blind"
    assert outcome.leftovers == []
    assert outcome.still_listening == set()


def test_a_kill_while_ray_runs_leaves_nothing(tmp_path: Path) -> None:
    code = {"__init__.py": "", "supervise.py": "import time\nprint('asleep', flush=True)\ntime.sleep(300)\n"}
    assembly = write_training_assembly(tmp_path / "assembly", code, replicas=1, gpus="1")
    options = ["--assembly", str(assembly), "--output", str(tmp_path / "out")]
    outcome = kill([sys.executable, "-m", "rehearsal", *options], tmp_path / "log", asleep)
    assert outcome.code == -signal.SIGKILL
    assert outcome.listened, "nothing was seen to listen: the watch is blind"
    assert outcome.leftovers == []
    assert outcome.still_listening == set()


# Below the child: a shell, and a process in a session of its own, as Ray's workers are.
FAMILY = """
import os, sys, tempfile, time
from pathlib import Path
from rehearsal.processes import OwnProcesses, interruptible, supervised
from rehearsal.runner import run_folder
def work():
    with interruptible(), OwnProcesses() as processes:
        processes.start(["sh", "-c", "setsid sleep 300 & wait"], os.environ, folder, folder / "log")
        time.sleep(0.5)
        print(os.getppid(), os.getpid(), flush=True)
        time.sleep(300)
    return 3
with run_folder() as folder:
    sys.exit(supervised(work))
"""


@pytest.mark.parametrize(("victim", "code"), [(0, -signal.SIGKILL), (1, 128 + signal.SIGKILL)])
def test_either_of_two_processes_cleans_up_after_the_other(tmp_path: Path, victim: int, code: int) -> None:
    outcome = kill([sys.executable, "-c", FAMILY], tmp_path / "log", lambda _, output: "\n" in output, victim)
    assert outcome.code == code
    assert outcome.leftovers == []


def test_supervised_work_ends_with_its_own_code() -> None:
    script = "import sys; from rehearsal.processes import supervised; sys.exit(supervised(lambda: 3))"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert ended.returncode == 3
