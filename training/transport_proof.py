"""Proves, before anything is trained, which transport carries bytes between the nodes.

Every rank exchanges bytes with the same local rank of the other nodes, so that every rank has channels of its own to
show: in a ring over all ranks only those at a node's edge have any.
"""

import datetime
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from training import transport_counters as counters
from training.errors import InputError
from training.transport_log import LogError, NcclLog, read_own_log
from training.transport_verdict import Observation, Required, check, judge

# Large enough that NCCL does not choose its latency protocols, small enough to take milliseconds.
PAYLOAD_BYTES = 16 * 1024**2
# NCCL builds its channels within seconds. What hangs here would hang later, at a higher price.
TIMEOUT = datetime.timedelta(seconds=45)
DEFAULT_INTERFACE = "eth0"


def prove(
    required: Required,
    device: torch.device,
    node: str | None = None,
    *,
    record: Callable[[list[dict[str, Any]]], None] | None = None,
    host_sys: Path = counters.HOST_SYS,
) -> list[dict[str, Any]]:
    """Prove the transport in the default process group; call it first, on every rank, with the `node` it is on.

    Without `node` it is this host.
    Returns all ranks' verdicts as JSON objects, after rank 0 has handed them to `record`. Raises TransportError on
    every rank unless all verdicts are the `required` one.
    """
    rank, backend, node = dist.get_rank(), dist.get_backend(), node or socket.gethostname()
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where NCCL gathers objects
    try:
        nodes: list[str] = [""] * dist.get_world_size()
        dist.all_gather_object(nodes, node)
        peers = groups_across(nodes)
        group, _ = dist.new_subgroups_by_enumeration(peers, timeout=TIMEOUT)
        seen = observe(rank, backend, nodes, lambda: _exchange(device, group), host_sys)
        observations: list[Any] = [None] * len(nodes)
        dist.all_gather_object(observations, seen)
        dist.destroy_process_group(group)  # gives NCCL's buffers back
    except (dist.DistBackendError, dist.DistNetworkError) as error:
        if backend != "nccl" or required == "none":
            raise
        # With the network gone the others cannot be heard: each rank speaks for itself.
        log, log_error = _log()
        text = str(error).strip().splitlines()[-1]
        alone = Observation(
            rank=rank, node=node, backend=backend, nodes=2, log=log, log_error=log_error, exchange_error=text
        )
        check([judge(alone)], required)
        raise
    verdicts = [judge(observation) for observation in observations]
    found = [verdict.to_json() for verdict in verdicts]
    if rank == 0 and record is not None:
        record(found)
    check(verdicts, required)
    return found


def groups_across(nodes: Sequence[str]) -> list[list[int]]:
    """The ranks of each local rank, one per node, given each rank's node. Raises InputError for unequal nodes."""
    by_node: dict[str, list[int]] = {}
    for rank, node in enumerate(nodes):
        by_node.setdefault(node, []).append(rank)
    counts = [len(ranks) for ranks in by_node.values()]
    if len(set(counts)) > 1:
        raise InputError(
            "workers",
            len(nodes),
            f"as many on one node as on another, and there are {' and '.join(map(str, counts))}",
            "Choose a number that the nodes can share equally, such as all of their GPUs.",
        )
    return [list(ranks) for ranks in zip(*by_node.values(), strict=True)]


def observe(rank: int, backend: str, nodes: Sequence[str], exchange: Callable[[], None], host_sys: Path) -> Observation:
    """Call `exchange` and gather what this rank can see of it. Errors become part of the observation."""
    node = nodes[rank]
    local, count = nodes.count(node), len(set(nodes))
    # An all-reduce of n ranks makes each send its payload at least once; every local rank does one.
    expected = local * PAYLOAD_BYTES if count > 1 else 0
    interface = os.environ.get("NCCL_SOCKET_IFNAME", DEFAULT_INTERFACE)
    before, counters_error = _read(lambda: counters.read_efa(host_sys))
    socket_before, _ = _read(lambda: counters.read_interface(interface))
    exchange()
    after, error_after = _read(lambda: counters.read_efa(host_sys))
    socket_after, _ = _read(lambda: counters.read_interface(interface))
    log, log_error = _log() if backend == "nccl" else (None, None)
    return Observation(
        rank=rank,
        node=f"{node} ({socket.gethostname()})",
        backend=backend,
        nodes=count,
        expected_bytes=expected,
        log=log,
        log_error=log_error,
        moved=counters.moved(before, after) if before and after else None,
        counters_error=counters_error or error_after,
        socket_moved=(
            counters.moved(socket_before, socket_after)["tx_bytes"] if socket_before and socket_after else None
        ),
    )


def _exchange(device: torch.device, group: dist.ProcessGroup) -> None:
    payload = torch.ones(PAYLOAD_BYTES // 4, dtype=torch.float32, device=device)
    dist.all_reduce(payload, group=group)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    # The counters are the node's: nobody reads them before the last has sent.
    dist.barrier()


def _read(read: Callable[[], dict[str, int]]) -> tuple[dict[str, int] | None, str | None]:
    try:
        return read(), None
    except counters.CountersError as error:
        return None, str(error)


def _log() -> tuple[NcclLog | None, str | None]:
    try:
        return read_own_log(), None
    except LogError as error:
        return None, str(error)
