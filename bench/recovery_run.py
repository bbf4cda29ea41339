"""A small run through the job's own entrypoint, submitted to a local Ray whose processes can be killed under it."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.errors import RehearsalError
from rehearsal.process_tree import alive, send, state, titled
from rehearsal.processes import OwnProcesses, tail
from rehearsal.ray_processes import LocalRay, ray_variables
from rehearsal.shape import Shape
from rehearsal.stand_in_model import write_stand_in_model
from rehearsal.submission import LOCAL_ENVIRONMENT
from training.checkpoint import COMPLETE, FOLDER, CheckpointFolder
from training.results import METRICS, RESULT, RunFolder

ROOT = Path(__file__).resolve().parent.parent
# Two hosts of one worker: the loss of either is felt by the other.
SHAPE = Shape(pods=2, slots=1)
STEPS, CHECKPOINT_EVERY = 40, 4
# What a rehearsal sets to be quick, and a RayJob does not.
NOT_AS_IN_THE_JOB = {"RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"}
# For whatever is waited for: on a busy machine a start takes minutes.
WAIT_SECONDS = 600.0
POLL_SECONDS = 0.005
LINES_SHOWN = 30


def start_ray(processes: OwnProcesses, folder: Path) -> LocalRay:
    """Start a head and two hosts, with their files in the new folder `folder`."""
    folder.mkdir()
    ray = LocalRay(processes, folder, {"spec": {"headGroupSpec": {}}})
    ray.start(SHAPE, WAIT_SECONDS, lambda line: None)
    return ray


@dataclass(frozen=True)
class Training:
    """What each run of a session trains, in `folder`: the same, but for its name and the run that it resumes."""

    folder: Path

    @classmethod
    def prepare(cls, folder: Path) -> "Training":
        """Write the code, as the submitter's ConfigMap brings it, the model and the data."""
        package = folder / "job" / "training"
        package.mkdir(parents=True)
        for source in (ROOT / "training").glob("*.py"):
            shutil.copy(source, package)
        write_stand_in_model(folder / "model")
        shutil.copytree(ROOT / "docs", folder / "data")  # a run does not go on with data that were edited meanwhile
        return cls(folder)

    def flags(self, name: str, resume: str | None = None) -> list[str]:
        """Return the flags of training.supervise for the run `name`."""
        given = {
            "run-name": name,
            "model": self.folder / "model" / "config.json",
            "data": self.folder / "data",
            "results": self.folder / "results",
            "steps": STEPS,
            "sequence-length": 128,
            "learning-rate": 1e-3,
            "compute-dtype": "float32",
            "shard-size": SHAPE.slots,
            "checkpoint-every": CHECKPOINT_EVERY,
            "workers": SHAPE.world_size,
            "wait-seconds": 120,
            "save-model": "off",
        } | ({"resume": resume} if resume else {})
        return [str(word) for flag, value in given.items() for word in (f"--{flag}", value)]

    def submit(self, processes: OwnProcesses, ray: LocalRay, name: str, resume: str | None = None) -> "Job":
        """Submit as the RayJob's submitter does: by `ray job submit`, which follows the job and ends as it does."""
        variables = {key: value for key, (value, _) in LOCAL_ENVIRONMENT.items() if key not in NOT_AS_IN_THE_JOB}
        environment = {
            "working_dir": str(self.folder / "job"),
            "env_vars": variables | {"RAY_ADDRESS": ray.gcs_address},
        }
        command = [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--address", ray.address]
        command += ["--submission-id", name, "--runtime-env-json", json.dumps(environment)]
        command += ["--", "python", "-m", "training.supervise", *map(shlex.quote, self.flags(name, resume))]
        log = self.folder / f"{name}-{time.time_ns()}.log"
        process = processes.start(command, ray_variables(os.environ, None), self.folder, log)
        return Job(name, RunFolder(str(self.folder / "results"), name), process, log)


@dataclass(frozen=True)
class Job:
    """A submitted run. `process` is the submitter, `log` what it shows."""

    name: str
    folder: RunFolder
    process: subprocess.Popen[bytes]
    log: Path

    def rows(self) -> dict[int, dict[str, Any]]:
        """Return what metrics.jsonl says of each step. A line that is being written is left out."""
        lines = (self.folder.read(METRICS) or "").splitlines(keepends=True)
        read = [json.loads(line) for line in lines if line.endswith("\n")]
        rows = {row["step"]: row for row in read}
        assert len(rows) == len(read), f"a step of {self.name} is there twice"
        return rows

    def result(self) -> dict[str, Any]:
        """Return result.json."""
        found: dict[str, Any] = json.loads(self.folder.read(RESULT) or "{}")
        return found

    def whole(self) -> int:
        """Return the step of the newest whole checkpoint, 0 when there is none."""
        newest = CheckpointFolder(self.folder).newest()
        return 0 if newest is None else newest.step

    def half_written(self) -> list[str]:
        """Return the checkpoints that have files, and are not whole."""
        folders = Path(self.folder.path, FOLDER).glob("step-*")
        return [at.name for at in folders if not (at / COMPLETE).exists() and any(at.glob("*.distcp"))]

    def output(self) -> str:
        """Return all that the submitter has shown."""
        return self.log.read_text(errors="replace")

    def wait_for_step(self, step: int) -> None:
        """Return when the optimizer step `step` is done."""
        self.until(lambda: step in self.rows(), f"step {step}")

    def until(self, found: Callable[[], object], what: str) -> None:
        """Return when `found` says yes. Raises RehearsalError when the job has ended before, or WAIT_SECONDS have."""
        end = time.monotonic() + WAIT_SECONDS
        while not found():
            if self.process.poll() is not None or time.monotonic() > end:
                raise self._unexpected(what)
            time.sleep(POLL_SECONDS)

    def end(self, expected: int | None = 0) -> int:
        """Return the submitter's exit code. Raises RehearsalError when it is not `expected` (None: any will do)."""
        try:
            code = self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._unexpected("an end") from None
        if expected is not None and code != expected:
            raise self._unexpected(f"exit code {expected}")
        return code

    def _unexpected(self, wanted: str) -> RehearsalError:
        is_now = "runs" if self.process.returncode is None else f"ended with exit code {self.process.returncode}"
        return RehearsalError(f"run {self.name}", f"{is_now}\n{tail(self.log, LINES_SHOWN)}", wanted, "See the log.")


def kill_worker(ray: LocalRay, chance: random.Random) -> None:
    """Kill one training process."""
    send(chance.choice(workers(ray)), signal.SIGKILL)


def kill_host(ray: LocalRay, chance: random.Random) -> None:
    """Kill a host with its worker; another takes its place, as KubeRay replaces a pod."""
    ray.kill(chance.choice(ray.workers))
    ray.add_worker(SHAPE.slots)


def kill_driver(ray: LocalRay) -> None:
    """Kill the process that waits for the workers."""
    (driver,) = titled("-m training.train ", ray.pids("head"))
    send(driver, signal.SIGKILL)


def kill_while_saving(job: Job, ray: LocalRay, chance: random.Random) -> None:
    """Kill a training process at a moment when a checkpoint has files, and is not whole."""
    while True:
        job.until(job.half_written, "a half-written checkpoint")
        stopped = workers(ray)
        for pid in stopped:
            send(pid, signal.SIGSTOP)
        while any(alive(pid) and state(pid) != "T" for pid in stopped):
            time.sleep(POLL_SECONDS)
        caught = bool(job.half_written())
        if caught:
            send(chance.choice(stopped), signal.SIGKILL)
        for pid in stopped:
            send(pid, signal.SIGCONT)
        if caught:
            return


def workers(ray: LocalRay) -> list[int]:
    """Return the training processes on all hosts."""
    return [pid for name in ray.workers for pid in titled("RayTrainWorker", ray.pids(name))]
