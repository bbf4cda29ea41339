"""The submission, the stand-in model, results, drawings, phases and processes."""

import dataclasses
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from rehearsal.__main__ import main
from rehearsal.cdk import Cdk
from rehearsal.errors import RehearsalError
from rehearsal.phases import Phase, Phases, timeline
from rehearsal.plot import bars, save_png
from rehearsal.processes import Interrupted, OwnProcesses, interruptible, process_table, tail
from rehearsal.ray_processes import PORTS, LocalRay, check_socket_paths, free_ports, ray_variables, wants_token
from rehearsal.report import loss_rows, show_changes, transport_line
from rehearsal.results import MINIMUM_LOSS_FALL, Results, check_results, check_saved, read_results
from rehearsal.shape import Shape
from rehearsal.stand_in_model import write_stand_in_model
from rehearsal.submission import Local, existing_path, flags, shard_size, submission
from tests.rehearsal.assemblies import REVISION, ray_cluster, ray_job
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


def test_the_stand_in_model_loads_and_its_tokenizer_loses_nothing(tmp_path: Path) -> None:
    config_file = write_stand_in_model(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(config_file.parent)
    text = "def f(x):\n\treturn  'é ☃ 𝄞'\r\n"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(ids) == len(text.encode())
    assert tokenizer.decode(ids) == text
    assert tokenizer.eos_token == "<|endoftext|>"
    config = AutoConfig.from_pretrained(config_file)
    assert config.vocab_size == len(tokenizer) == 259
    model = AutoModelForCausalLM.from_config(config)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert 1.5e6 < sum(parameter.numel() for parameter in model.parameters()) < 2.5e6


def _results(**changes: Any) -> Results:
    result = {"first_loss": 5.0, "last_loss": 3.0, "world_size": 8, "mesh": "hsdp 2 x 4", "parameters": 1}
    result |= {"tokens_per_second": 2.0, "transport": {"verdict": "SOCKET", "bytes": {"steps": 0, "why": "none"}}}
    return Results(result | changes, [{"step": 1, "loss": 5.0}, {"step": 2, "loss": 3.0}])


def test_results_are_good_when_the_loss_fell_and_nobody_was_left_out() -> None:
    check_results(_results(), Shape(2, 4), 4)
    check_results(_results(last_loss=5.0 * (1 - MINIMUM_LOSS_FALL)), Shape(2, 4), 4)
    check_results(_results(world_size=4, mesh="full over 4"), Shape(1, 4), 4)
    check_results(_results(mesh="full over 8"), Shape(2, 4), None)


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


def test_the_transport_is_one_line() -> None:
    sent = {"steps": 3, "node": "a", "predicted_bytes_per_step": 7.4e6}
    assert transport_line({"verdict": "SOCKET", "bytes": sent | {"why": "lo"}}) == (
        "SOCKET proven; a step needs 7.4 MB to leave each pod; not measured: lo"
    )
    assert transport_line({"verdict": "EFA", "bytes": sent | {"measured_bytes_per_step": 7.6e6}}) == (
        "EFA proven; a step needs 7.4 MB to leave each pod; 7.6 MB did"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"world_size": 4}, "world size in result.json: 4"),
        ({"mesh": "full over 8"}, "mesh in result.json: full over 8"),
        ({"last_loss": 4.9}, "last loss: 4.9000, and the first was 5.0000"),
        ({"last_loss": float("nan")}, "last loss: nan"),
    ],
)
def test_results_that_show_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RehearsalError, match=message):
        check_results(_results(**changes), Shape(2, 4), 4)


def test_missing_or_incomplete_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"result\.json"):
        read_results(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps({"status": "running"}))
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 5.0}\n')
    with pytest.raises(RehearsalError, match="first_loss"):
        read_results(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps(_results().result))
    assert read_results(tmp_path).losses == [5.0]


def test_a_run_without_checkpoint_or_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="checkpoints in "):
        check_saved(tmp_path)
    (tmp_path / "checkpoints" / "step-00000020").mkdir(parents=True)
    with pytest.raises(RehearsalError, match="none that is whole"):
        check_saved(tmp_path)
    (tmp_path / "checkpoints" / "step-00000020" / "complete.json").write_text("{}")
    with pytest.raises(RehearsalError, match="a model that from_pretrained loads"):
        check_saved(tmp_path)
    AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(write_stand_in_model(tmp_path / "config"))
    ).save_pretrained(tmp_path / "model")
    check_saved(tmp_path)


def test_the_plot_falls_with_the_loss() -> None:
    lines = bars([4.0, 3.0, 2.0, 1.0], height=4)
    assert [line[8:] for line in lines] == ["█   ", "██  ", "███ ", "████"]
    assert lines[0].startswith("   4.00")
    assert len(bars([float(i) for i in range(1000)], width=64)[0]) == 8 + 64
    assert len(bars([1.0])[0]) == 8 + 1


def test_the_png_is_a_png(tmp_path: Path) -> None:
    save_png([3.0, 2.0], "title", tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_the_loss_table_has_the_first_and_the_last_step() -> None:
    assert loss_rows(50) == [0, 7, 14, 21, 28, 35, 42, 49]
    assert loss_rows(3) == [0, 1, 2]
    assert loss_rows(1) == [0]


def test_phases_are_timed_and_drawn_on_one_axis() -> None:
    times = iter([0.0, 0.0, 10.0, 10.0, 40.0])
    said: list[str] = []
    phases = Phases(said.append, lambda: next(times))
    with phases.phase("one"):
        pass
    with phases.phase("two"):
        pass
    assert phases.finished == [Phase("one", 0.0, 10.0), Phase("two", 10.0, 30.0)]
    assert timeline(phases.finished, width=8) == ["██", "  ██████"]
    assert len(said) == 4


def test_ray_gets_neither_another_clusters_address_nor_our_code_path() -> None:
    found = ray_variables({"RAY_ADDRESS": "x", "PYTHONPATH": "y", "HOME": "/h", "PATH": "/bin"}, "secret")
    assert found["HOME"] == "/h"
    assert not {"RAY_ADDRESS", "PYTHONPATH"} & found.keys()
    assert (found["RAY_AUTH_MODE"], found["RAY_AUTH_TOKEN"]) == ("token", "secret")
    assert found["PATH"] == f"{Path(sys.executable).parent}:/bin"
    assert "RAY_AUTH_TOKEN" not in ray_variables({}, None)


def test_the_token_is_used_when_the_cluster_asks_for_it() -> None:
    assert wants_token(ray_cluster())
    assert not wants_token(ray_cluster(auth=None))
    assert not wants_token(ray_cluster(auth="disabled"))


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20 and all(port in PORTS for port in ports)


def test_a_temporary_folder_too_deep_for_sockets_is_refused() -> None:
    check_socket_paths(Path("/tmp/rr-12345678"))
    with pytest.raises(RehearsalError, match="Set TMPDIR to a shorter path"):
        check_socket_paths(Path("/tmp/" + "x" * 40))


def _children() -> set[int]:
    return {pid for pid, above in process_table().items() if above == os.getpid()}


def test_descendants_in_other_sessions_are_ended_too(tmp_path: Path) -> None:
    # A child that leaves the session and ignores TERM, as nothing in Ray does worse, with its parent gone.
    stubborn = (
        "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(99)"
    )
    parent = f"import subprocess,sys; subprocess.Popen([sys.executable, '-c', {stubborn!r}], start_new_session=True)"
    before = _children()  # the test run's own, such as the Node of another module's CDK
    with OwnProcesses() as processes:
        first = processes.start([sys.executable, "-c", parent], os.environ, tmp_path, tmp_path / "log")
        assert processes.wait(first, 10) == 0
        while tail(tmp_path / "log", 1) != "up":
            time.sleep(0.05)
        (orphan,) = _children() - before - {first.pid}
    assert orphan not in process_table()


def test_processes_of_others_are_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "30"])
    with OwnProcesses() as processes:
        processes.start(["sleep", "30"], os.environ, tmp_path, tmp_path / "log")
    assert other.poll() is None
    other.kill()
    other.wait()


def test_the_first_signal_interrupts_and_the_next_does_not_stop_the_clean_up() -> None:
    cleaned = False
    with pytest.raises(Interrupted) as raised, interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            cleaned = True
    assert cleaned
    assert raised.value.exit_code == 143


def test_the_process_table_is_the_same_from_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {os.getpid(): os.getppid()}.items()
    assert mine <= process_table().items()
    monkeypatch.setattr(Path, "exists", lambda self: False)
    assert mine <= process_table().items()


def test_a_node_that_dies_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    with OwnProcesses() as processes:
        ray = LocalRay(processes, Path("/tmp/rr-x"), ray_cluster())
        ray._folder = tmp_path
        ray._started["worker-2"] = processes.start(
            ["sh", "-c", "echo no memory; exit 3"], os.environ, tmp_path, tmp_path / "worker-2.log"
        )
        processes.wait(ray._started["worker-2"], 10)
        with pytest.raises(RehearsalError, match=r"worker-2: died with exit code 3; the end of its log:\nno memory"):
            ray.check()


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
