"""The rehearsal's command line asks nobody outside this machine."""

import socket
import threading
from pathlib import Path

import pytest

from rehearsal.cdk import Cdk
from rehearsal.processes import OwnProcesses
from tests.rehearsal.watch import ROOT


def test_the_cdk_command_line_does_not_ask_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = []

    def accept() -> None:
        try:
            while True:
                # Kept open, unanswered.
                connections.append(listener.accept())
        except OSError:
            pass

    # npx asks at most once a day, and never where it sees a CI system.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener, OwnProcesses() as processes:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            proxy = {"HTTPS_PROXY": f"http://127.0.0.1:{listener.getsockname()[1]}"}
            output = Cdk(processes, ROOT, proxy, tmp_path, print).run("--version", seconds=120)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    for connection, _ in connections:
        connection.close()
    assert output.split(".")[0].split()[-1] == "2"
    assert connections == []
