"""What the RayJob becomes here, and the inputs that are refused before it starts."""

import dataclasses
import io
import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rehearsal.__main__ import main
from rehearsal.errors import RehearsalError
from rehearsal.processes import OwnProcesses
from rehearsal.report import show_changes
from rehearsal.shape import Shape
from rehearsal.submission import Local, existing_path, flags, shard_size, submission
from tests.rehearsal.assemblies import REVISION, ray_job
from training.arguments import parse

LOCAL = Local(model="/m/config.json", data="stdlib", steps=5, workers=8, shard_size=4, results=Path("/r"))


def test_overrides_win_and_the_rest_is_the_jobs_own() -> None:
    todo = submission(ray_job(), Path("/w"), LOCAL, "127.0.0.1:1")
    own = ray_job()["spec"]["entrypoint"].replace(f" --revision {REVISION}", "")
    assert todo.entrypoint.startswith(f"{own} --model /m/config.json ")
    # Through a shell, as Ray runs it; words[0:3] is `python -m training.supervise`.
    parsed = parse(shlex.split(todo.entrypoint)[3:])
    assert (parsed.model, parsed.steps, parsed.workers, parsed.results) == ("/m/config.json", 5, 8, "/r")
    assert (parsed.run_name, parsed.seed) == (todo.run_name, 0)
    assert todo.runtime_env["excludes"] == ["..*"]
    assert todo.runtime_env["working_dir"] == "/w"
    assert (
        todo.runtime_env["env_vars"] | {"AWS_REGION": "us-east-2", "GLOO_SOCKET_IFNAME": "lo"}
        == (todo.runtime_env["env_vars"])
    )


@pytest.mark.parametrize("steps", [1, 5, 50])
def test_what_counts_steps_fits_the_shorter_run(steps: int) -> None:
    job = ray_job()
    own = " --schedule cosine --warmup-steps 100 --evaluate-every 100 --evaluation-sequences 8 --profile-steps 100"
    job["spec"]["entrypoint"] += own
    todo = submission(job, Path("/w"), dataclasses.replace(LOCAL, steps=steps), "a:1")
    parsed = parse(shlex.split(todo.entrypoint)[3:])
    assert parsed.warmup_steps == steps // 5
    assert parsed.evaluate_every == max(1, steps // 2)
    assert parsed.profile_steps == max(0, steps - 5)
    assert {"--warmup-steps", "--evaluate-every", "--profile-steps"} <= {change.what for change in todo.changes}


def test_a_local_model_has_no_revision() -> None:
    for form in (f"--revision {REVISION}", f"--revision={REVISION}", ""):
        job = ray_job()
        job["spec"]["entrypoint"] = job["spec"]["entrypoint"].replace(f"--revision {REVISION}", form)
        assert parse(shlex.split(submission(job, Path("/w"), LOCAL, "a:1").entrypoint)[3:]).revision is None


def test_every_change_is_shown_with_what_it_was_and_why() -> None:
    changes = {change.what: change for change in submission(ray_job(), Path("/w"), LOCAL, "a:1").changes}
    assert (changes["--revision"].was, changes["--revision"].now) == (REVISION, "")
    assert changes["--workers"].was is None
    assert "--data" not in changes  # the job's own is stdlib too
    console = Console(width=160, file=io.StringIO())
    show_changes(console, list(changes.values()))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert all(change.what in shown for change in changes.values())


def test_a_job_without_a_run_name_is_refused() -> None:
    job = ray_job()
    job["spec"]["entrypoint"] = "python -m training.supervise --model m"
    with pytest.raises(RehearsalError, match=r"spec\.entrypoint"):
        submission(job, Path("/w"), LOCAL, "a:1")


def test_of_two_equal_flags_the_last_counts() -> None:
    assert flags("x --a 1 --b 'two words' --a=3 --c=d=e") == {"a": "3", "b": "two words", "c": "d=e"}


def test_a_path_becomes_absolute_and_a_keyword_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").mkdir()
    assert existing_path("text") == str(tmp_path / "text")
    assert existing_path("stdlib") == "stdlib"


@pytest.mark.parametrize(
    ("mesh", "shape", "size"),
    [
        ("", Shape(2, 4), 4),
        (" --mesh auto", Shape(1, 4), 4),
        (" --mesh auto", Shape(2, 1), 2),  # a node's one GPU shards nothing
        (" --mesh hsdp", Shape(2, 1), 1),
        (" --mesh full", Shape(2, 4), None),
    ],
)
def test_pods_are_to_the_job_what_nodes_are(mesh: str, shape: Shape, size: int | None) -> None:
    job = ray_job(more=mesh)
    assert shard_size(job["spec"]["entrypoint"], shape) == size
    todo = submission(job, Path("/w"), dataclasses.replace(LOCAL, shard_size=size), "a:1")
    assert parse(shlex.split(todo.entrypoint)[3:]).shard_size == size


def test_sockets_are_required_where_the_job_requires_efa() -> None:
    todo = submission(ray_job(more=" --require-transport efa"), Path("/w"), LOCAL, "a:1")
    assert parse(shlex.split(todo.entrypoint)[3:]).require_transport == "socket"
    (change,) = [change for change in todo.changes if change.what == "--require-transport"]
    assert (change.was, change.now, change.why) == ("efa", "socket", "gloo over loopback is not EFA")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "/no/such/config.json"], "--model: /no/such/config.json"),
        (["--data", "/no/such/text"], "--data: /no/such/text"),
    ],
)
def test_a_bad_model_or_data_is_refused_before_anything_starts(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def started(*_: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(OwnProcesses, "start", started)
    assert main([*arguments, "--output", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr().out
    assert message in shown and "expected:" in shown and "next:" in shown
    assert not (tmp_path / "out").exists()


def test_data_that_is_too_short_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short.txt").write_text("too short")
    assert main(["--data", str(tmp_path / "short.txt"), "--output", str(tmp_path / "out")]) == 1
    assert "tokens" in capsys.readouterr().out


@pytest.mark.parametrize("steps", ["0", "-1", "x", "1.5"])
def test_steps_are_a_whole_number(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--steps", steps])
    assert "expected a whole number of at least 1" in capsys.readouterr().err
