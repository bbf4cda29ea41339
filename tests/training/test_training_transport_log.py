"""NCCL's log is understood in every wording, and only this process's counts."""

import os
import time
from pathlib import Path

import pytest

from tests.training.nccl_lines import PID, channels, efa_log, info, missing_plugin_log, socket_log
from training.transport_log import LogError, NcclLog, log_path, process_start, read_log

NCCLS = ["2.26.2", "2.27.5", "2.27.7", "2.28.9", "2.29.3", "2.29.7", "2.30.3", "2.30.7"]
PLUGINS = ["1.12.1-aws", "1.13.0-aws", "1.13.2-aws", "1.14.0", "1.17.3", "1.20.0", "1.21.1"]


def read(folder: Path, lines: list[str], *, started: float = 0.0) -> NcclLog:
    path = folder / "nccl.log"
    path.write_text("\n".join(lines) + "\n")
    return read_log(path, PID, started)


@pytest.mark.failure_mode("B2")
@pytest.mark.parametrize("ofi", PLUGINS)
@pytest.mark.parametrize("nccl", NCCLS)
def test_every_versions_wording_is_read(tmp_path: Path, nccl: str, ofi: str) -> None:
    log = read(tmp_path, efa_log(nccl, ofi))
    assert log.channels == {"AWS Libfabric" if ofi.startswith("1.12") else "Libfabric": 2}
    assert (log.plugin, log.libfabric, log.protocol, log.provider) == (ofi, "2.3", "SENDRECV", "efa")
    assert (log.gpu_direct, log.warnings) == (False, ())


@pytest.mark.parametrize("suffix", ["/GDRDMA", "/GDRDMA(PCI)", "/GDRDMA/Shared", "(3)/GDRDMA/Shared"])
def test_gpudirect_shows_in_the_channel(tmp_path: Path, suffix: str) -> None:
    log = read(tmp_path, channels("Libfabric", (suffix, suffix)))
    assert log.channels == {"Libfabric": 2}
    assert log.gpu_direct


def test_channels_inside_a_node_prove_nothing(tmp_path: Path) -> None:
    inside = [line for line in channels("Libfabric") if "NET/" not in line]
    assert read(tmp_path, [info("Using network Libfabric"), *inside]).channels == {}


def test_sockets_and_why(tmp_path: Path) -> None:
    log = read(tmp_path, socket_log())
    assert log.channels == {"Socket": 2}
    assert log.warnings == ("NET/Plugin: Could not find: libnccl-net-ofi.so.",)
    assert (log.plugin, log.provider) == (None, None)


@pytest.mark.failure_mode("B1")
@pytest.mark.parametrize("nccl", NCCLS)
def test_a_missing_plugin_is_among_the_warnings(tmp_path: Path, nccl: str) -> None:
    log = read(tmp_path, missing_plugin_log(nccl))
    assert log.warnings[0].startswith("NET/Plugin: Could not find: ofi libnccl-net-ofi.so.")
    last = "Error: network Libfabric not found." if nccl < "2.27" else "Failed to initialize any NET plugin"
    assert log.warnings[-1] == last


def test_another_processs_lines_do_not_count(tmp_path: Path) -> None:
    other = [line.replace(f":{PID}:", ":77:") for line in efa_log()]
    with pytest.raises(LogError, match=rf"holds {len(other)} lines and none of process {PID} at level INFO"):
        read(tmp_path, other)
    assert read(tmp_path, other + socket_log()).channels == {"Socket": 2}


def test_a_log_from_before_this_process_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "nccl.log"
    path.write_text("\n".join(efa_log()))
    os.utime(path, (time.time() - 600, time.time() - 600))
    with pytest.raises(LogError, match="older than this process: it is another's"):
        read_log(path, PID, time.time() - 60)
    assert read_log(path, PID, time.time() - 700).channels == {"Libfabric": 2}


def test_no_log_says_what_nccl_needs(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"cannot be read \(No such file.*NCCL_DEBUG is INFO"):
        read_log(tmp_path / "none.log", PID, 0.0)


def test_the_path_is_expanded_as_nccl_does() -> None:
    assert log_path("/tmp/nccl-%h-%p.log", "worker-1.cluster.local", 7) == Path("/tmp/nccl-worker-1-7.log")
    assert log_path("/tmp/100%%-%p", "w", 7) == Path("/tmp/100%-7")


@pytest.mark.parametrize("pattern", [None, "", "/tmp/nccl.log", "/tmp/nccl-%h.log"])
def test_a_log_that_processes_share_is_refused(pattern: str | None) -> None:
    with pytest.raises(LogError, match="expected a path with %h and %p"):
        log_path(pattern, "w", 7)


def test_when_this_process_began() -> None:
    assert time.time() - 3600 < process_start() < time.time()
    assert abs(process_start() - process_start()) < 0.5
