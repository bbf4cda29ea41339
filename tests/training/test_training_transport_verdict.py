"""The verdict: EFA only when NCCL's log and the interface's bytes both say so."""

import dataclasses
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.training.nccl_lines import PID, efa_log, info, missing_plugin_log, plugin, socket_log
from training.transport_counters import CountersError, moved, read_efa, read_interface
from training.transport_log import NcclLog, read_log
from training.transport_verdict import Observation, TransportError, Verdict, check, judge

EXPECTED = 64 * 1024**2
# What a payload of that size and its headers do on a node without GPUDirect: nothing to rdma_*.
MOVED = {"tx_bytes": 68_000_000, "rx_bytes": 68_100_000, "send_bytes": 67_108_864, "rdma_write_bytes": 0}


@pytest.fixture
def log(tmp_path: Path) -> Callable[[list[str]], NcclLog]:
    def make(lines: list[str]) -> NcclLog:
        path = tmp_path / "nccl.log"
        path.write_text("\n".join(lines) + "\n")
        return read_log(path, PID, 0.0)

    return make


def seen(rank: int = 0, **changes: Any) -> Observation:
    base = Observation(
        rank=rank, node=f"node {rank // 4}", backend="nccl", nodes=2, expected_bytes=EXPECTED, moved=MOVED
    )
    return dataclasses.replace(base, **changes)


Log = Callable[[list[str]], NcclLog]


def test_all_efa(log: Log) -> None:
    verdicts = [judge(seen(rank, log=log(efa_log()))) for rank in range(8)]
    assert {verdict.kind for verdict in verdicts} == {"EFA"}
    assert verdicts[0].reason == "2 channels via EFA, 68,000,000 bytes sent by it"
    check(verdicts, "efa")


@pytest.mark.failure_mode("B1")
def test_one_rank_on_sockets_fails_all_and_is_named(log: Log) -> None:
    verdicts = [judge(seen(rank, log=log(efa_log()))) for rank in range(7)]
    verdicts.append(judge(seen(7, log=log(socket_log()))))
    with pytest.raises(TransportError) as failure:
        check(verdicts, "efa")
    assert str(failure.value).splitlines() == [
        "transport = SOCKET on 1 of 8 ranks",
        "    expected: EFA on every rank, proven before the first step",
        "    SOCKET: 2 via NET/Socket of 2 channels between hosts; NCCL says: NET/Plugin: Could not find: "
        "libnccl-net-ofi.so. (rank 7 on node 1)",
        "    to do:    Set NCCL_NET=Libfabric, so that NCCL fails instead, and read its log for why the plugin was not "
        "used",
    ]
    assert [verdict["kind"] for verdict in failure.value.verdicts] == ["EFA"] * 7 + ["SOCKET"]
    assert str(pickle.loads(pickle.dumps(failure.value))) == str(failure.value)  # Ray sends errors so


def test_one_socket_channel_among_many_is_enough(log: Log) -> None:
    extra = info("Channel 01/0 : 0[0] -> 1[0] [send] via NET/Socket/0")
    verdict = judge(seen(log=log([*efa_log(), extra])))
    assert (verdict.kind, verdict.reason) == ("SOCKET", "1 via NET/Socket of 3 channels between hosts")


def test_a_stale_log_is_unknown(tmp_path: Path) -> None:
    verdict = judge(seen(log_error=f"NCCL's log {tmp_path} is older than this process: it is another's"))
    assert verdict.kind == "UNKNOWN"
    assert "older than this process" in verdict.reason


@pytest.mark.parametrize("nccl", ["2.26.2", "2.27.7", "2.29.7", "2.30.7"])
def test_a_missing_plugin_is_unknown_and_named(log: Log, nccl: str) -> None:
    verdict = judge(seen(log=log(missing_plugin_log(nccl)), exchange_error="ncclInvalidUsage", moved=None))
    assert verdict.kind == "UNKNOWN"
    assert "ncclInvalidUsage. Its log: NET/Plugin: Could not find: ofi libnccl-net-ofi.so." in verdict.reason
    assert "check NCCL_NET_PLUGIN and the image" in verdict.remedy


@pytest.mark.parametrize("name", ["tx_bytes", "rx_bytes"])
def test_counters_that_do_not_move_are_unknown(log: Log, name: str) -> None:
    verdict = judge(seen(log=log(efa_log()), moved={**MOVED, name: 12}, socket_moved=70_000_000))
    assert verdict.kind == "UNKNOWN"
    assert verdict.reason == (
        f"NCCL names EFA, but {name} by 12 moved of at least 67,108,864 bytes; the ordinary interface sent 70,000,000"
    )


def test_counters_that_cannot_be_read_are_unknown(log: Log, tmp_path: Path) -> None:
    with pytest.raises(CountersError) as failure:
        read_efa(tmp_path)
    verdict = judge(seen(log=log(efa_log()), moved=None, counters_error=str(failure.value)))
    assert verdict.kind == "UNKNOWN"
    assert f"{tmp_path}/class/infiniband/*/ports/*/hw_counters: no such folder (devices there: none)" in verdict.reason
    with pytest.raises(TransportError, match="Mount the host's /sys into the worker pod"):
        check([verdict], "efa")


@pytest.mark.failure_mode("B3")
def test_no_rdma_is_expected_without_gpudirect(log: Log) -> None:
    without = {name: count for name, count in MOVED.items() if not name.startswith("rdma")}
    assert judge(seen(log=log(efa_log()), moved=without)).kind == "EFA"


def test_libfabric_over_tcp_is_not_efa(log: Log) -> None:
    lines = [
        line.replace("provider is efa, fabric is efa", "provider is tcp, fabric is 10.0.0.0/16") for line in efa_log()
    ]
    verdict = judge(seen(log=log(lines)))
    assert (verdict.kind, verdict.reason) == ("SOCKET", "libfabric uses the provider tcp, not efa")


def test_what_the_log_leaves_out_is_unknown(log: Log) -> None:
    assert "names no channel between hosts" in judge(seen(log=log(plugin("1.20.0")))).reason
    silent = [line for line in efa_log() if "Selected" not in line]
    assert judge(seen(log=log(silent))).kind == "UNKNOWN"
    infiniband = [line.replace("NET/Libfabric", "NET/IB") for line in efa_log()]
    assert judge(seen(log=log(infiniband))).kind == "UNKNOWN"


def test_one_node_cannot_prove_anything(log: Log) -> None:
    verdict = judge(seen(log=log(efa_log()), nodes=1))
    assert (verdict.kind, verdict.reason) == ("UNKNOWN", "all ranks are on one node: nothing crosses")


def test_gloo_is_honest() -> None:
    verdict = judge(seen(backend="gloo"))
    assert (verdict.kind, verdict.reason) == ("SOCKET", "gloo: not EFA")
    check([verdict], "none")
    check([verdict], "socket")
    with pytest.raises(TransportError, match="gloo: not EFA"):
        check([verdict], "efa")


def test_tcp_can_be_required_and_efa_refused(log: Log) -> None:
    check([judge(seen(log=log(socket_log())))], "socket")
    with pytest.raises(TransportError, match=r"expected: SOCKET on every rank(?s:.*)set NCCL_NET=Socket"):
        check([judge(seen(log=log(efa_log())))], "socket")


def test_a_verdict_is_json(log: Log) -> None:
    verdict: Verdict = judge(seen(log=log(efa_log())))
    stored: Mapping[str, Any] = json.loads(json.dumps(verdict.to_json()))
    assert stored["kind"] == "EFA"
    assert stored["seen"]["log"]["channels"] == {"Libfabric": 2}
    assert stored["seen"]["moved"] == MOVED


def hw_counters(sys: Path, device: str, **values: object) -> None:
    folder = sys / "class" / "infiniband" / device / "ports" / "1" / "hw_counters"
    folder.mkdir(parents=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")


def test_counters_are_summed_over_interfaces(tmp_path: Path) -> None:
    hw_counters(tmp_path, "rdmap0s29", tx_bytes=10, rx_bytes=1, rdma_read_bytes=5)
    hw_counters(tmp_path, "rdmap1s29", tx_bytes=30, rx_bytes=2)
    assert read_efa(tmp_path) == {"tx_bytes": 40, "rx_bytes": 3, "rdma_read_bytes": 5}
    assert moved({"tx_bytes": 40}, {"tx_bytes": 45, "rx_bytes": 1}) == {"tx_bytes": 5}


@pytest.mark.parametrize("values", [{"tx_bytes": 1}, {"tx_bytes": 1, "rx_bytes": "none"}])
def test_a_counter_that_is_missing_is_never_zero(tmp_path: Path, values: dict[str, object]) -> None:
    hw_counters(tmp_path, "efa_0", **values)
    with pytest.raises(CountersError, match=r"hw_counters/rx_bytes cannot be read"):
        read_efa(tmp_path)


def test_a_pods_own_sys_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "class" / "infiniband" / "rdmap0s29" / "ports" / "1").mkdir(parents=True)
    with pytest.raises(CountersError, match=r"\(devices there: rdmap0s29\). Mount the host's /sys"):
        read_efa(tmp_path)


def test_an_interface_that_is_not_there() -> None:
    assert read_interface("lo").keys() == {"tx_bytes", "rx_bytes"}
    with pytest.raises(CountersError, match="net/none0/statistics"):
        read_interface("none0")
