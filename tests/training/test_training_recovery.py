"""The job's entrypoint on a real Ray, with its results in S3, while its processes are killed."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import ray
import torch

from rehearsal.process_tree import children, descendants, titled
from tests.training.helpers import ROOT, MakeArguments, losses, rows, words
from training.checkpoint import COMPLETE, FOLDER, CheckpointFolder
from training.loop import train
from training.results import RESULT, RunFolder
from training.storage import file_sizes, folder_names

STEPS = 40


def until(found: Callable[[], object], what: str, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.01)


@pytest.mark.failure_mode("G4")
def test_lost_workers_and_a_lost_driver_cost_the_steps_since_the_last_checkpoint(
    s3: str, two_cpus: str, arguments: MakeArguments, process_group: None, tmp_path: Path
) -> None:
    args = arguments(run_name="recovered", data=__file__, results=s3, steps=STEPS, checkpoint_every=3, workers=2)
    folder = RunFolder(s3, "recovered")
    checkpoints = CheckpointFolder(folder)

    def saved() -> int:
        newest = checkpoints.newest()
        return 0 if newest is None else newest.step

    def half_written() -> list[str]:
        at = f"{folder.path}/{FOLDER}"
        found = {name: file_sizes(folder.filesystem, f"{at}/{name}") for name in folder_names(folder.filesystem, at)}
        return [name for name, files in found.items() if files and COMPLETE not in files]

    log, here = tmp_path / "log", tmp_path / "started-here"
    here.mkdir()
    with log.open("w") as output:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "training.supervise", *words(args)],
            cwd=here,
            env=os.environ | {"PYTHONPATH": str(ROOT), "RAY_ADDRESS": two_cpus},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: saved() >= 3 and half_written(), "checkpoint being written after the first whole one")
        first = saved()
        os.kill(titled("RayTrainWorker", descendants(os.getpid()))[0], signal.SIGKILL)
        until(lambda: saved() > first + 3, "checkpoint after a worker was killed")
        (driver,) = children(supervisor.pid)
        os.kill(driver, signal.SIGKILL)
        second = saved()
        code = supervisor.wait(240)
    finally:
        supervisor.kill()
    assert code == 0, log.read_text()[-3000:]
    assert "driver lost (signal 9); starting it again, 1 of 3" in log.read_text()

    result = json.loads(folder.read(RESULT) or "")
    assert result["status"] == "succeeded"
    assert second <= result["resumed_from_step"] < STEPS
    assert list(result["timeline"])[:2] == ["supervisor", "driver"]
    # Each step once, as if nothing had happened.
    assert [row["step"] for row in rows(args)] == list(range(1, STEPS + 1))
    alone = dataclasses.replace(args, run_name="alone", results=str(tmp_path), micro_batch=2, checkpoint_every=0)
    train(alone, torch.device("cpu"), {"driver": time.time()})
    assert losses(args) == pytest.approx(losses(alone), abs=5e-5)
    # A checkpoint given to torch as a plain path lands below a working directory: the driver's, or that of Ray.
    node = ray._private.worker.global_worker.node
    assert node is not None
    session = Path(node.get_session_dir_path())
    assert [path for place in (here, session) for path in place.rglob("*.distcp")] == []
    assert list(here.iterdir()) == []
