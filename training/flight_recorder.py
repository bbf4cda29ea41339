"""The collectives that this process has called, from torch.distributed's flight recorder.

The recorder is on by default for gloo and NCCL (2,000 entries unless TORCH_FR_BUFFER_SIZE says otherwise, read when the
first process group is made). It says what was asked of the network, not how it went.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import torch.distributed as dist
from torch._C import _distributed_c10d

from training.plan_bytes import Collective, Operation

# As the recorder names them, with NCCL's and gloo's spellings; what is not here moves no tensors of ours.
_OPERATIONS: dict[str, Operation] = {
    "all_gather": "all_gather",
    "_all_gather_base": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_reduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "broadcast": "broadcast",
}
_WIDTHS = {"Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Byte": 1, "Char": 1, "Bool": 1}


class RecorderError(RuntimeError):
    """The recorder does not hold what was asked for; the message says why."""


def mark() -> int:
    """The number of the next entry. Hand it to `since`."""
    entries = _entries()
    return int(entries[-1]["record_id"]) + 1 if entries else 0


def since(begin: int) -> list[Collective]:
    """The collectives of the default group's backend since `begin`, in order.

    Another backend's, such as an asynchronous checkpoint's over gloo, take another way. Raises RecorderError when some
    calls have been overwritten.
    """
    entries = _entries()
    if not entries or int(entries[0]["record_id"]) > begin:
        raise RecorderError(
            "the flight recorder no longer holds the calls that were measured: set TORCH_FR_BUFFER_SIZE higher in the "
            "worker's environment (2000 by default; 0 is off)"
        )
    groups = {
        str(group.group_name): tuple(dist.get_process_group_ranks(group))
        for group in dist.distributed_c10d._world.pg_map  # no public list of the groups
    }
    return read([entry for entry in entries if _backend(entry) == dist.get_backend()], begin, groups)


def read(entries: Iterable[Mapping[str, Any]], begin: int, groups: Mapping[str, tuple[int, ...]]) -> list[Collective]:
    """The collectives among `entries` from number `begin`; `groups` gives the ranks of each group by name.

    Point-to-point calls are left out: nothing here makes them. Raises RecorderError for a type it does not know.
    """
    found = []
    for entry in entries:
        name = entry["profiling_name"].partition(":")[2]
        if int(entry["record_id"]) < begin or entry["is_p2p"] or name not in _OPERATIONS:
            continue
        operation = _OPERATIONS[name]
        # The larger side is the whole tensor: the output of a gather, the input of a scatter.
        side = "output" if operation == "all_gather" else "input"
        payload = 0
        for sizes, dtype in zip(entry[f"{side}_sizes"], entry[f"{side}_dtypes"], strict=True):
            if dtype not in _WIDTHS:
                raise RecorderError(f"{name} of {dtype}: expected one of {', '.join(_WIDTHS)}")
            elements = 1
            for size in sizes:
                elements *= size
            payload += elements * _WIDTHS[dtype]
        ranks = groups.get(entry["process_group"][0])
        if ranks is None:
            raise RecorderError(f"{name} in group {entry['process_group'][0]!r}, which no longer exists")
        if len(ranks) > 1:
            found.append(Collective(operation, payload, ranks))
    return found


def _backend(entry: Mapping[str, Any]) -> str:
    return str(entry["profiling_name"]).partition(":")[0]


def _entries() -> list[dict[str, Any]]:
    # While nothing has been recorded, the key is missing.
    trace = json.loads(_distributed_c10d._dump_fr_trace_json())  # type: ignore[attr-defined]
    return sorted(trace.get("entries", []), key=lambda entry: int(entry["record_id"]))
