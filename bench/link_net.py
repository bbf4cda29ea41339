"""Two hosts on this machine: two network namespaces joined by one shaped link. Needs root and iproute2."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from bench.errors import BenchError, ending

INTERFACE = "eth0"
ADDRESSES = ("10.213.0.1", "10.213.0.2")
HOSTS = len(ADDRESSES)


def why_not() -> BenchError | None:
    """Why namespaces cannot be made here, or None where they can."""
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return BenchError(", ".join(missing), "not installed", "iproute2", "install it")
    if os.geteuid() != 0:
        return BenchError("user", os.geteuid(), "root, who may make network namespaces", "use sudo")
    return None


@contextmanager
def link(megabits: int) -> Iterator[tuple[str, str]]:
    """Yield the names of two namespaces whose only link sends `megabits` per second each way.

    Nothing leads out of them. Raises BenchError.
    """
    if reason := why_not():
        raise reason
    names = (f"bench-a-{os.getpid()}", f"bench-b-{os.getpid()}")
    try:
        for name in names:
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        peer = ("peer", "name", INTERFACE, "netns", names[1])
        _run("ip", "link", "add", INTERFACE, "netns", names[0], "type", "veth", *peer)
        for name, address in zip(names, ADDRESSES, strict=True):
            _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", INTERFACE)
            _run("ip", "-n", name, "link", "set", INTERFACE, "up")
            # A burst of 10 ms, and a queue of 100 ms: about what a switch port holds.
            shape = ("rate", f"{megabits}mbit", "burst", f"{megabits * 10_000 // 8}", "latency", "100ms")
            _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", *shape)
        yield names
    finally:
        for name in names:
            subprocess.run(  # noqa: S603 - no shell, and the command is ours
                ["ip", "netns", "del", name],  # noqa: S607 - wherever iproute2 is
                stderr=subprocess.DEVNULL,
                check=False,
            )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        raise BenchError(
            " ".join(command),
            ending(done.returncode, done.stderr),
            "a kernel with network namespaces, veth and the tbf queue",
            "run it on another Linux, or in a virtual machine",
        )
