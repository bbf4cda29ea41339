"""The byte counters of this node's EFA interfaces, and of an ordinary network interface.

A pod's own /sys lacks the EFA port counters, so the host's is mounted at HOST_SYS. They count for the whole node, since
the driver was loaded: what matters is how they change.
"""

from collections.abc import Mapping
from pathlib import Path

HOST_SYS = Path("/host/sys")
OWN_SYS = Path("/sys")
# The driver's names. rdma_* move only with GPUDirect or the plugin's RDMA protocol; the first two always.
MUST_MOVE = ("tx_bytes", "rx_bytes")
_ALSO = (
    "send_bytes",
    "recv_bytes",
    "rdma_read_bytes",
    "rdma_read_resp_bytes",
    "rdma_write_bytes",
    "rdma_write_recv_bytes",
    "rx_drops",
    "retrans_bytes",
)


class CountersError(Exception):
    """The counters cannot be read; the message says where was looked and what to do."""


def read_efa(sys: Path = HOST_SYS) -> dict[str, int]:
    """Sum of each counter over the node's interfaces and ports. Raises CountersError: missing is never zero."""
    devices = sys / "class" / "infiniband"
    folders = sorted(devices.glob("*/ports/*/hw_counters"))
    if not folders:
        found = ", ".join(sorted(path.name for path in devices.glob("*"))) or "none"
        raise CountersError(
            f"{devices}/*/ports/*/hw_counters: no such folder (devices there: {found}). Mount the host's /sys, read "
            f"only, at {sys}, on a node with an EFA interface"
        )
    total: dict[str, int] = {}
    for folder in folders:
        for name in MUST_MOVE + _ALSO:
            file = folder / name
            if name in _ALSO and not file.exists():  # what older drivers lack
                continue
            try:
                total[name] = total.get(name, 0) + int(file.read_text())
            except (OSError, ValueError) as error:
                raise CountersError(f"{file} cannot be read: {error}. It must hold a number") from error
    return total


def read_interface(name: str, sys: Path = OWN_SYS) -> dict[str, int]:
    """tx_bytes and rx_bytes of a network interface of this network namespace. Raises CountersError."""
    folder = sys / "class" / "net" / name / "statistics"
    try:
        return {counter: int((folder / counter).read_text()) for counter in MUST_MOVE}
    except (OSError, ValueError) as error:
        raise CountersError(f"{folder}: {error}. Name an interface that exists here") from error


def moved(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much each counter has grown."""
    return {name: after[name] - count for name, count in before.items() if name in after}
