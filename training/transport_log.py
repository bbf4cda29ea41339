"""Reads NCCL's own log of this process: which network each channel between hosts uses.

Wordings as in the sources of NCCL 2.26 to 2.30 and aws-ofi-nccl 1.12 to 1.21.
"""

import os
import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# "host:pid:tid [device] NCCL INFO text", warnings with a time before and a source line between.
_LINE = re.compile(r"^(?:\[[^\]]*\] )?\S+?:(?P<pid>\d+):\d+ \[\d+\] .*?NCCL (?P<level>INFO|WARN) (?P<text>.*)$")
# Inside a host NCCL says "via P2P/..." or "via SHM/...".
_CHANNEL = re.compile(r"^Channel \d+/\d+ : \d+\[\w+\] -> \d+\[\w+\] \[(?:send|receive)\] via NET/(?P<net>[^/]+)/\S+$")
_PLUGIN = re.compile(r"^NET/OFI Initializing aws-ofi-nccl (?P<it>\S+)$")
_LIBFABRIC = re.compile(r"^NET/OFI Using Libfabric version (?P<it>[\d.]+)")
_PROTOCOL = re.compile(r"^NET/OFI Using transport protocol (?P<it>\w+)")
# 1.14 lowered the P and added the fabric.
_PROVIDER = re.compile(r"^NET/OFI Selected [Pp]rovider is (?P<it>[^ ,]+)")
# Said at INFO when the plugin's library or its network is missing.
_MISSING = re.compile(r"^NET/Plugin: (?:Could not find|.*cannot open shared object)|^Failed to initialize NET plugin")
_CLOCK_SLACK_SECONDS = 2.0


class LogError(Exception):
    """There is no log that speaks for this process; the message says what was found and what to do."""


@dataclass(frozen=True, kw_only=True)
class NcclLog:
    """What the log says. `channels`: how many channels between hosts use each network, by NCCL's name for it."""

    path: str
    channels: dict[str, int] = field(default_factory=dict)
    gpu_direct: bool = False
    plugin: str | None = None
    libfabric: str | None = None
    protocol: str | None = None
    provider: str | None = None
    warnings: tuple[str, ...] = ()


def log_path(pattern: str | None, host: str, pid: int) -> Path:
    """Where NCCL writes, given NCCL_DEBUG_FILE. Raises LogError unless each process gets a file of its own."""
    if not pattern or "%p" not in pattern:
        raise LogError(
            f"NCCL_DEBUG_FILE = {pattern!r}: expected a path with %h and %p, so that each process has a log of its "
            "own. Set it, and NCCL_DEBUG=INFO, in the worker pod's environment"
        )
    named = {"h": host.partition(".")[0], "p": str(pid), "%": "%"}
    return Path(re.sub(r"%([hp%])", lambda match: named[match[1]], pattern))


def read_own_log() -> NcclLog:
    """The log of this process. Raises LogError."""
    pid = os.getpid()
    path = log_path(os.environ.get("NCCL_DEBUG_FILE"), socket.gethostname(), pid)
    return read_log(path, pid, process_start())


def process_start() -> float:
    """The time.time() at which this process began."""
    # Field 22, in ticks since boot, counted behind the program's name, which may hold spaces.
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def read_log(path: Path, pid: int, started: float) -> NcclLog:
    """Read `path` for process `pid`, which began at time `started`. Raises LogError.

    A file written before that, and lines of another process, do not count: process ids are used again.
    """
    try:
        lines = path.read_text(errors="replace").splitlines()
        written = path.stat().st_mtime
    except OSError as error:
        raise LogError(
            f"NCCL's log {path} cannot be read ({error.strerror}): NCCL writes none unless NCCL_DEBUG is INFO and the "
            "folder exists"
        ) from error
    if written < started - _CLOCK_SLACK_SECONDS:
        raise LogError(f"NCCL's log {path} is older than this process: it is another's. Empty its folder at start")
    own = [match for line in lines if (match := _LINE.match(line)) and int(match["pid"]) == pid]
    if not own:
        raise LogError(
            f"NCCL's log {path} holds {len(lines)} lines and none of process {pid} at level INFO: "
            "set NCCL_DEBUG=INFO in the worker pod's environment"
        )
    return parse(str(path), [(match["level"], match["text"]) for match in own])


def parse(path: str, lines: Iterable[tuple[str, str]]) -> NcclLog:
    """Make sense of (level, text) pairs."""
    channels: dict[str, int] = {}
    found: dict[str, str] = {}
    warnings: list[str] = []
    gpu_direct = False
    named = {"plugin": _PLUGIN, "libfabric": _LIBFABRIC, "protocol": _PROTOCOL, "provider": _PROVIDER}
    for level, text in lines:
        if match := _CHANNEL.match(text):
            channels[match["net"]] = channels.get(match["net"], 0) + 1
            gpu_direct = gpu_direct or "/GDRDMA" in text
        elif level == "WARN" or _MISSING.match(text):
            warnings.append(text)
        for name, pattern in named.items():
            if match := pattern.match(text):
                found[name] = match["it"]
    return NcclLog(path=path, channels=channels, gpu_direct=gpu_direct, warnings=tuple(warnings), **found)
