"""The proof and the meter, over gloo as they are, and over NCCL as far as that goes without a GPU."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.training.helpers import ROOT
from tests.training.nccl_lines import HOST, PID, efa_log, missing_plugin_log
from tests.training.transport_ranks import GATHERED, REDUCED
from training import transport_counters, transport_proof
from training.errors import InputError
from training.transport_meter import BytesMeter
from training.transport_proof import PAYLOAD_BYTES, groups_across, observe, prove
from training.transport_verdict import TransportError, judge


def ranks(required: str, steps: int, *nodes: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("transport_ranks.py")), required, str(steps), *nodes],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith('{"ranks"')]
    found: list[dict[str, Any]] = json.loads(line)["ranks"]
    return found


@pytest.mark.failure_mode("F19")
def test_gloo_passes_where_nothing_is_required_and_its_bytes_are_predicted() -> None:
    found = ranks("none", 6, "a", "a", "b", "b")
    assert [rank["kinds"] for rank in found] == [["SOCKET"] * 4] * 4
    assert [len(rank["recorded"]) for rank in found] == [1, 0, 0, 0]
    for rank, node in zip(found, "aabb", strict=True):
        figures = rank["bytes"]
        assert (figures["steps"], figures["node"], figures["source"]) == (3, node, "lo tx_bytes")
        # One edge of the ring over all ranks, and both pairs' halves of a ring of two.
        assert figures["predicted_bytes_per_step"] == GATHERED * 3 / 4 + 2 * REDUCED
        assert "measured_bytes_per_step" not in figures
        assert figures["why"] == "lo also carries what stays on the node: its bytes say nothing about a link"


def test_gloo_fails_every_rank_where_efa_is_required() -> None:
    for rank in ranks("efa", 1, "a", "b"):
        assert rank["error"].startswith("transport = SOCKET on 2 of 2 ranks\n    expected: EFA on every rank")
        assert "gloo: not EFA (rank 0 on a" in rank["error"]
    assert json.dumps(rank["recorded"]) == "[]"


def test_a_short_run_is_measured_as_far_as_it_goes() -> None:
    found = ranks("socket", 2, "a", "b")
    assert found[0]["bytes"]["steps"] == 1
    assert found[0]["bytes"]["predicted_bytes_per_step"] == GATHERED / 2 + REDUCED


def test_a_run_of_one_step_and_an_interface_that_is_not_there(
    process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "none0")
    meter = BytesMeter("SOCKET", torch.device("cpu"), "a")
    meter.after_step()
    assert meter.after_run() == {"steps": 0, "why": "bytes are measured from the second step on, and there was none"}
    meter.after_step()
    figures = meter.after_run()
    assert "/sys/class/net/none0/statistics" in figures["why"]
    assert (figures["predicted_bytes_per_step"], "measured_bytes_per_step" in figures) == (0, False)


def test_efas_counters_are_read_between_the_second_and_the_fourth_step(
    process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = 0
    monkeypatch.setattr(transport_counters, "read_efa", lambda: {"tx_bytes": 7 + 1000 * step, "rx_bytes": 0})
    meter = BytesMeter("EFA", torch.device("cpu"), "a")
    for step in range(1, 9):  # noqa: B007 - what the counters show
        meter.after_step()
    expected = {"steps": 3, "node": "a", "source": "EFA tx_bytes"}
    assert meter.after_run() == expected | {"predicted_bytes_per_step": 0, "measured_bytes_per_step": 1000}


def test_a_flight_recorder_that_is_too_small_is_said(process_group: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_counters, "read_efa", lambda: {"tx_bytes": 0, "rx_bytes": 0})
    meter = BytesMeter("EFA", torch.device("cpu"), "a")
    meter.after_step()
    for _ in range(2001):  # one more than it holds
        dist.all_reduce(torch.zeros(1))
    meter.after_step()
    figures = meter.after_run()
    assert "set TORCH_FR_BUFFER_SIZE higher" in figures["why"]
    assert "predicted_bytes_per_step" not in figures


def test_each_rank_is_paired_with_its_like_on_other_nodes() -> None:
    assert groups_across(["a", "a", "b", "b"]) == [[0, 2], [1, 3]]
    assert groups_across(["a", "b", "a", "b"]) == [[0, 1], [2, 3]]
    with pytest.raises(InputError, match=r"--workers 3: expected as many on one node .*, and there are 2 and 1"):
        groups_across(["a", "a", "b"])


@pytest.fixture
def nccl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host's /sys with one EFA interface, and NCCL's log below it."""
    counters = tmp_path / "class" / "infiniband" / "rdmap0s29" / "ports" / "1" / "hw_counters"
    counters.mkdir(parents=True)
    for name in ("tx_bytes", "rx_bytes"):
        (counters / name).write_text("1000\n")
    monkeypatch.setenv("NCCL_DEBUG_FILE", f"{tmp_path}/nccl-%h-%p.log")
    return tmp_path


def write_log(folder: Path, lines: list[str]) -> None:
    host = socket.gethostname().partition(".")[0]
    text = "\n".join(lines).replace(f"{HOST}:{PID}:", f"{host}:{os.getpid()}:")
    (folder / f"nccl-{host}-{os.getpid()}.log").write_text(text + "\n")


def test_what_nccl_and_the_interface_show_of_an_exchange_is_efa(nccl: Path) -> None:
    def exchange() -> None:
        write_log(nccl, efa_log())
        for file in nccl.rglob("?x_bytes"):
            file.write_text(f"{1000 + 4 * PAYLOAD_BYTES + 5}\n")

    seen = observe(1, "nccl", ["a"] * 4 + ["b"] * 4, exchange, nccl)
    assert seen.expected_bytes == 4 * PAYLOAD_BYTES
    assert seen.moved == {"tx_bytes": 4 * PAYLOAD_BYTES + 5, "rx_bytes": 4 * PAYLOAD_BYTES + 5}
    assert judge(seen).kind == "EFA"
    # A log that claims EFA while the interface stands still.
    assert judge(observe(1, "nccl", ["a"] * 4 + ["b"] * 4, lambda: None, nccl)).kind == "UNKNOWN"


@pytest.mark.failure_mode("B1")
def test_when_nccl_gives_up_each_rank_says_why(
    nccl: Path, process_group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object) -> None:
        write_log(nccl, missing_plugin_log())
        raise dist.DistBackendError("NCCL error in: NCCLUtils.cpp:77\nncclInvalidUsage: invalid usage of NCCL library")

    monkeypatch.setattr(dist, "get_backend", lambda: "nccl")
    monkeypatch.setattr(transport_proof, "_exchange", give_up)
    with pytest.raises(TransportError, match=r"UNKNOWN: .*ncclInvalidUsage.*Could not find: ofi libnccl-net-ofi\.so"):
        prove("efa", torch.device("cpu"), "a", host_sys=nccl)
    with pytest.raises(dist.DistBackendError):
        prove("none", torch.device("cpu"), "a", host_sys=nccl)
