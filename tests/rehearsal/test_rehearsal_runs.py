"""Whole rehearsals, with real Ray processes: each is also searched for what it leaves behind."""

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.errors import RehearsalError
from rehearsal.job import run_job
from rehearsal.processes import OwnProcesses
from rehearsal.ray_processes import LocalRay
from rehearsal.shape import Shape
from rehearsal.submission import Submission
from tests.rehearsal.assemblies import RUN_NAME, ray_cluster, training_code, write_training_assembly
from tests.rehearsal.watch import Outcome, rehearse

SLEEP = "import subprocess\nprint('asleep', flush=True)\nsubprocess.run(['sleep', '300'])\n"


def clean(outcome: Outcome) -> bool:
    assert outcome.leftovers == []
    assert outcome.listened, "nothing was seen to listen: the watch is blind"
    assert outcome.still_listening == set()
    return True


def test_the_app_trains_on_eight_workers_with_the_config_maps_code(tmp_path: Path) -> None:
    code = training_code()
    # The repository's own package is importable too: only the ConfigMap's has these lines.
    code["train.py"] = code["train.py"].replace("import ray\n", "import ray\nprint('driver runs', __file__)\n", 1)
    code["loop.py"] += "\nprint('worker runs', __file__, flush=True)\n"
    assembly = write_training_assembly(tmp_path / "assembly", code)
    outcome = rehearse("--assembly", str(assembly), "--steps", "8", output=tmp_path / "out")
    assert outcome.code == 0, outcome.output
    assert clean(outcome)
    result = json.loads((tmp_path / "out" / RUN_NAME / "result.json").read_text())
    assert result["world_size"] == 8
    assert result["last_loss"] < result["first_loss"]
    lines = outcome.output.splitlines()
    for which in ("driver runs", "worker runs"):
        (where,) = {line.split("/runtime_resources/")[1].split("/")[0] for line in lines if f"{which} /" in line}
        assert where == "working_dir_files"
    assert "2 worker pods x 4 = world size 8" in outcome.output
    assert "the job API refused a request without it" in outcome.output
    assert "What this does not show" in outcome.output
    assert (tmp_path / "out" / RUN_NAME / "loss.png").stat().st_size > 0
    # torch's TCPStore, by which the ranks meet, takes no address to listen on; everything else stays on loopback.
    assert len(outcome.other_than_loopback) <= 1


def test_broken_code_fails_with_its_error_and_nothing_stays(tmp_path: Path) -> None:
    code = training_code() | {"train.py": "raise RuntimeError('this script is broken')\n"}
    assembly = write_training_assembly(tmp_path / "assembly", code, replicas=1, gpus="1")
    outcome = rehearse("--assembly", str(assembly), output=tmp_path / "out")
    assert outcome.code == 1
    assert clean(outcome)
    assert "RuntimeError: this script is broken" in outcome.output
    assert f"job {RUN_NAME}: FAILED, exit code 1" in outcome.output


def test_a_run_over_its_deadline_ends_itself(tmp_path: Path) -> None:
    assembly = write_training_assembly(
        tmp_path / "assembly", training_code(), more=" --deadline-seconds 12", replicas=1, gpus="1"
    )
    outcome = rehearse("--assembly", str(assembly), "--steps", "1000000", output=tmp_path / "out")
    assert outcome.code == 1
    assert clean(outcome)
    assert "still training after 12 s, its --deadline-seconds" in outcome.output
    assert json.loads((tmp_path / "out" / RUN_NAME / "result.json").read_text())["status"] == "failed"


@pytest.mark.parametrize(
    ("signal_at", "number", "code"),
    [("| asleep", signal.SIGINT, 130), ("waiting for nodes", signal.SIGTERM, 143)],
)
def test_a_signal_ends_it_and_nothing_stays(tmp_path: Path, signal_at: str, number: signal.Signals, code: int) -> None:
    assembly = write_training_assembly(
        tmp_path / "assembly", {"__init__.py": "", "supervise.py": SLEEP}, replicas=1, gpus="1"
    )
    outcome = rehearse("--assembly", str(assembly), output=tmp_path / "out", signal_at=signal_at, number=number)
    assert outcome.code == code, outcome.output
    assert clean(outcome)
    assert f"Ended by {number.name}" in outcome.output


@pytest.fixture(scope="module")
def local_ray() -> Iterator[LocalRay]:
    with tempfile.TemporaryDirectory(prefix="rt-") as folder, OwnProcesses() as processes:
        ray = LocalRay(processes, Path(folder), ray_cluster())
        ray.start(Shape(1, 1), 120, lambda line: None)
        yield ray


def job(command: str, name: str) -> Submission:
    return Submission(name, command, {}, [])


def test_the_job_api_wants_the_token(local_ray: LocalRay) -> None:
    assert local_ray.refuses_strangers()
    assert local_ray.get("/api/jobs/", local_ray.headers).startswith(b"[")
    local_ray.get("/api/version", local_ray.headers)


def test_a_job_that_succeeds_hands_over_every_line_once(local_ray: LocalRay) -> None:
    lines: list[str] = []
    run_job(local_ray, job("for i in 1 2 3; do echo line $i; sleep 0.4; done; printf end", "lines"), 60, lines.append)
    assert [line for line in lines if line[:4] in ("line", "end")] == ["line 1", "line 2", "line 3", "end"]


def test_a_driver_that_is_killed_is_a_failure(local_ray: LocalRay) -> None:
    with pytest.raises(RehearsalError, match=r"job killed: FAILED.*last words"):
        # The dot of the pattern does not match line ends, so the message is one line here.
        try:
            run_job(local_ray, job("echo last words; kill -9 $$", "killed"), 60, lambda line: None)
        except RehearsalError as error:
            raise RehearsalError(error.field, str(error.value).replace("\n", " "), "", "") from error


def test_a_job_that_does_not_end_meets_its_deadline(local_ray: LocalRay) -> None:
    with pytest.raises(RehearsalError, match=r"job asleep: RUNNING after 3 s"):
        run_job(local_ray, job("sleep 60", "asleep"), 3, lambda line: None)


def test_a_node_that_dies_under_a_job_is_named(local_ray: LocalRay) -> None:
    # The last test of this cluster.
    os.kill(local_ray._started["worker-1"].pid, signal.SIGKILL)
    with pytest.raises(RehearsalError, match=r"Ray's worker-1: died with exit code -9"):
        run_job(local_ray, job("sleep 60", "left"), 30, lambda line: None)
