"""Log lines as NCCL and aws-ofi-nccl word them, by version. Written from their sources; none comes from a run."""

from collections.abc import Sequence

HOST, PID = "ray-worker-x7", 412


def info(text: str, pid: int = PID) -> str:
    return f"{HOST}:{pid}:{pid + 9} [0] NCCL INFO {text}"


def warning(text: str, version: str = "2.29.7") -> str:
    place = "plugin/net.cc:326 (ncclNetInit)" if version.startswith("2.30") else "plugin/net.cc:326"
    return f"[2026-11-29 20:14:09] {HOST}:{PID}:{PID + 9} [0] {place} NCCL WARN {text}"


def plugin(version: str) -> list[str]:
    """The plugin's own lines on a node with one EFA interface."""
    old = tuple(map(int, version.split("-")[0].split("."))) < (1, 14, 0)
    provider = "Selected Provider is efa" if old else "Selected provider is efa, fabric is efa"
    return [
        info(f"NET/OFI Initializing aws-ofi-nccl {version}"),
        info("NET/OFI Using Libfabric version 2.3"),
        info("NET/OFI Using transport protocol SENDRECV"),
        info(f"NET/OFI {provider} (found 1 nics)"),
    ]


def loading(nccl: str, name: str) -> list[str]:
    """How NCCL says that it took the plugin's network."""
    found: list[str] = []
    if nccl >= "2.28":
        found.append(info("Successfully loaded external network plugin libnccl-net-ofi.so"))
    elif nccl >= "2.27":
        found.append(info("Successfully loaded external plugin libnccl-net-ofi.so"))
    else:
        found.append(info(f"NET/Plugin: Loaded net plugin {name} (v9)"))
    if nccl >= "2.27":
        found += [info(f"Initialized NET plugin {name}"), info(f"Assigned NET plugin {name} to comm")]
    return [*found, info(f"Using network {name}")]


def channels(network: str, suffixes: Sequence[str] = ("", "")) -> list[str]:
    """Two channels inside the node and one each way between the nodes."""
    return [
        info("Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"),
        info("Channel 01 : 1[1] -> 0[0] via P2P/CUMEM"),
        info(f"Channel 00/0 : 1[0] -> 0[0] [receive] via NET/{network}/0{suffixes[0]}"),
        info(f"Channel 00/0 : 0[0] -> 1[0] [send] via NET/{network}/0{suffixes[1]}"),
    ]


def efa_log(nccl: str = "2.29.7", ofi: str = "1.20.0") -> list[str]:
    name = "AWS Libfabric" if ofi.startswith("1.12") else "Libfabric"
    return [info("NCCL_DEBUG set by environment to INFO"), *plugin(ofi), *loading(nccl, name), *channels(name)]


def socket_log() -> list[str]:
    return [
        info("NET/Plugin: Could not find: libnccl-net-ofi.so."),
        info("NET/Socket : Using [0]eth0:10.0.3.7<0>"),
        info("Initialized NET plugin Socket"),
        info("Using network Socket"),
        *channels("Socket"),
    ]


def missing_plugin_log(nccl: str = "2.29.7") -> list[str]:
    """NCCL_NET=Libfabric, and a library that is not there: NCCL gives up."""
    if nccl < "2.27":
        # 2.26 looks the network up by name.
        return [
            info("NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin."),
            warning("Error: network Libfabric not found.", nccl),
        ]
    return [
        info("NET/Plugin: Could not find: ofi libnccl-net-ofi.so."),
        warning("Failed to initialize any NET plugin", nccl),
    ]
