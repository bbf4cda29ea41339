"""The job's entrypoint while a host is lost, which Ray Train replaces, and while the head is, which nothing does."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from bench.recovery_run import CHECKPOINT_EVERY, SHAPE, STEPS, Training, kill_host, start_ray
from rehearsal.processes import OwnProcesses
from rehearsal.ray_processes import LocalRay
from rehearsal.runner import run_folder
from training.arguments import parse
from training.loop import train
from training.results import METRICS

AFTER = 2 * CHECKPOINT_EVERY + 1


@pytest.fixture(scope="module")
def processes() -> Iterator[OwnProcesses]:
    with OwnProcesses() as processes:
        yield processes


@pytest.fixture(scope="module")
def training() -> Iterator[Training]:
    with run_folder() as folder:
        yield Training.prepare(folder)


@pytest.fixture(scope="module")
def ray(training: Training, processes: OwnProcesses) -> LocalRay:
    return start_ray(processes, training.folder / "1")


@pytest.fixture(scope="module")
def undisturbed(training: Training) -> list[float]:
    """The losses of the same steps, done by one process that loses nothing."""
    words = [*training.flags("alone"), "--micro-batch", str(SHAPE.world_size), "--checkpoint-every", "0"]
    threads = torch.get_num_threads()
    dist.init_process_group("gloo", init_method=f"file://{training.folder}/store", rank=0, world_size=1)
    try:
        args = parse(words)
        train(args, torch.device("cpu"), {"driver": time.time()})
    finally:
        torch.set_num_threads(threads)
        dist.destroy_process_group()
    lines = Path(args.results, args.run_name, METRICS).read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


@pytest.mark.failure_mode("G4")
def test_a_lost_host_costs_the_steps_since_the_last_checkpoint(
    training: Training, processes: OwnProcesses, ray: LocalRay, undisturbed: list[float]
) -> None:
    job = training.submit(processes, ray, "run")
    job.wait_for_step(AFTER)
    whole = job.whole()
    assert whole >= CHECKPOINT_EVERY
    kill_host(ray, random.Random(0))
    job.end()

    assert "driver lost" not in job.output()  # it was for Ray Train to start the workers again
    assert whole <= job.result()["resumed_from_step"] < STEPS
    rows = job.rows()
    assert list(rows) == list(range(1, STEPS + 1))
    assert [row["loss"] for row in rows.values()] == pytest.approx(undisturbed, abs=5e-5)
    assert job.half_written() == []


def test_a_lost_head_fails_the_job_and_another_goes_on_from_its_run(
    training: Training, processes: OwnProcesses, ray: LocalRay, undisturbed: list[float]
) -> None:
    lost = training.submit(processes, ray, "lost")
    lost.wait_for_step(AFTER)
    whole = lost.whole()
    assert whole >= CHECKPOINT_EVERY
    ray.kill("head")
    assert lost.end(expected=1)
    for name in ray.workers:  # their pods restart: they were of a cluster that is no more
        ray.kill(name)

    ray = start_ray(processes, training.folder / "2")
    resumed = training.submit(processes, ray, "resumed", resume="lost")
    resumed.end()
    assert (lost.result()["status"], lost.result()["resumed_by"]) == ("lost", "resumed")
    at = resumed.result()["resumed_from_step"]
    assert whole <= at < STEPS
    before, after = lost.rows(), resumed.rows()
    assert list(after) == list(range(at + 1, STEPS + 1))
    together = [(before if step <= at else after)[step]["loss"] for step in range(1, STEPS + 1)]
    assert together == pytest.approx(undisturbed, abs=5e-5)
