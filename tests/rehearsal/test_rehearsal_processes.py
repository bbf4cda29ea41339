"""Processes of our own: what they get, and that none is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal.errors import RehearsalError
from rehearsal.processes import Interrupted, OwnProcesses, interruptible, process_table, tail
from rehearsal.ray_processes import PORTS, LocalRay, check_socket_paths, free_ports, ray_variables, wants_token
from tests.rehearsal.assemblies import ray_cluster


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
