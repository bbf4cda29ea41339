"""The jobs of EFA against TCP: what is made of the standing one, which that is, and how they are followed."""

import dataclasses
import json
import shlex
from pathlib import Path

import pytest
import yaml

from bench import transport_jobs
from bench.errors import BenchError
from bench.transport_jobs import EFA, TCP, made_from
from tests.objects import the_one
from tests.synthesis import ENVIRONMENTS
from training.arguments import Arguments, parse

NAMESPACE = "ray-train"
STEPS = 30
Object = transport_jobs.Object


def arguments(job: Object) -> Arguments:
    """What training makes of a RayJob's command line; it refuses what would have no effect."""
    python, _, module, *words = shlex.split(job["spec"]["entrypoint"])
    assert (python, module) == ("python", "training.supervise")
    return parse(words)


def runtime_env(job: Object) -> Object:
    found: Object = yaml.safe_load(job["spec"]["runtimeEnvYAML"])
    return found


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_transports_jobs_differ_in_the_transport_alone(environment: str) -> None:
    standing = the_one("RayJob", environment)
    efa, tcp = (made_from(standing, transport, f"transport-{transport}", STEPS) for transport in (EFA, TCP))

    given, wanted = arguments(efa), {"run_name": "transport-socket", "require_transport": "socket"}
    assert (given.require_transport, given.steps, given.save_model, given.checkpoint_every) == ("efa", STEPS, False, 0)
    assert arguments(tcp) == dataclasses.replace(given, **wanted)  # type: ignore[arg-type]
    was = runtime_env(standing)
    assert runtime_env(efa) == was
    assert runtime_env(tcp) == was | {"env_vars": was["env_vars"] | {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"}}
    for job, name in ((efa, "transport-efa"), (tcp, "transport-socket")):
        assert job["metadata"].keys() == {"name", "namespace", "labels"}
        assert (job["metadata"]["name"], arguments(job).run_name) == (name, name)
        mine = ("entrypoint", "runtimeEnvYAML")
        assert job["spec"] == standing["spec"] | {field: job["spec"][field] for field in mine}


def test_the_model_data_and_sharding_are_the_standing_jobs() -> None:
    standing = the_one("RayJob", "prod")
    changed = {
        "run_name",
        "steps",
        "schedule",
        "checkpoint_every",
        "keep_checkpoints",
        "save_model",
        "max_failures",
        "deadline_seconds",
    }
    was, now = (vars(arguments(job)) for job in (standing, made_from(standing, EFA, "new", STEPS)))
    assert {name for name in was if was[name] != now[name]} == changed


def test_flags_that_would_be_refused_or_waited_for_are_taken_out() -> None:
    standing = the_one("RayJob")
    standing["spec"]["entrypoint"] += (
        " --resume old --evaluate-every=5 --evaluation-sequences 8 --profile-steps 3 --checkpoint-every 10"
    )
    standing["spec"]["jobId"] = "of-the-standing-one"
    job = made_from(standing, EFA, "new", STEPS)
    now = arguments(job)
    assert (now.resume, now.evaluate_every, now.profile_steps, now.checkpoint_every) == (None, 0, 0, 0)
    assert "jobId" not in job["spec"]


@pytest.mark.parametrize(
    ("entrypoint", "said"),
    [
        ("python train.py", "expected: python -m training.supervise --run-name NAME"),
        (
            "python -m training.supervise --run-name a --results /b --require-transport socket",
            "efa: the pods of this cluster are set to TCP",
        ),
    ],
)
def test_a_job_that_cannot_be_compared_is_refused(entrypoint: str, said: str) -> None:
    standing = the_one("RayJob")
    standing["spec"]["entrypoint"] = entrypoint
    with pytest.raises(BenchError, match=said):
        made_from(standing, EFA, "new", STEPS)


@pytest.mark.parametrize(("asked", "found"), [(None, "newer"), ("older", "older"), ("left-over", "left-over")])
def test_the_newest_job_that_is_not_ours_is_taken_or_the_one_that_is_named(
    asked: str | None, found: str, tmp_path: Path
) -> None:
    jobs = [
        {
            "metadata": {"name": name, "creationTimestamp": f"2026-11-30T0{hour}:00:00Z", "labels": labels},
            "status": {"jobDeploymentStatus": "Complete"},
        }
        for name, hour, labels in (("newer", 2, {}), ("older", 1, {}), ("left-over", 3, {transport_jobs.LABEL: EFA}))
    ]
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!/bin/sh\necho {shlex.quote(json.dumps({'items': jobs}))}\n")
    kubectl.chmod(0o755)
    standing = transport_jobs.Cluster(str(kubectl), NAMESPACE, print).standing(asked)
    assert standing["metadata"]["name"] == found


def flaky(folder: Path, answers: str) -> str:
    """A kubectl that says on each call what the next line of `answers` does."""
    (folder / "calls").write_text(answers)
    script = folder / "flaky"
    script.write_text(f'#!/bin/sh\ncd {folder}\nread -r now < calls\nsed -i 1d calls\neval "$now"\n')
    script.chmod(0o755)
    return str(script)


def test_a_connection_that_is_lost_for_a_moment_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_jobs, "SECONDS_BETWEEN_LOOKS", 0)
    lost, ended = "false\n", 'echo \'{"status": {"jobDeploymentStatus": "Complete"}}\'\n'
    many = transport_jobs.LOOKS_LOST
    follow = transport_jobs.Cluster(flaky(tmp_path, lost * (many - 1) + ended), NAMESPACE, print).follow
    assert follow("job") == {"jobDeploymentStatus": "Complete"}
    flaky(tmp_path, lost * many + ended)
    with pytest.raises(BenchError, match="flaky -n ray-train get rayjob job"):
        follow("job")


def test_a_job_that_does_not_end_in_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_jobs, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(transport_jobs, "LIMIT_SECONDS", 0.1)
    waiting = 'echo \'{"status": {"jobDeploymentStatus": "Initializing"}}\'\n'
    cluster = transport_jobs.Cluster(flaky(tmp_path, waiting * 20), NAMESPACE, print)
    with pytest.raises(BenchError, match="RayJob job = Initializing\n    expected: to end within"):
        cluster.follow("job")


def test_what_cannot_be_deleted_is_said_with_the_command(tmp_path: Path) -> None:
    told: list[str] = []
    cluster = transport_jobs.Cluster(
        flaky(tmp_path, 'true\necho "E1130 tried" >&2; echo no route >&2; false\n'), NAMESPACE, told.append
    )
    with cluster.running({"metadata": {"name": "job"}}):
        pass
    assert told[0] == "job: created"
    assert "job may still run, and must be deleted by hand" in told[1]
    assert "flaky -n ray-train delete rayjob job --ignore-not-found\n" in told[1]
    assert "= no route\n    expected: an answer" in told[1]
