"""Bytes per step that leave the node: what its interface counted, beside what the collectives that were called need."""

import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist

from training import transport_counters as counters
from training.flight_recorder import RecorderError, mark, since
from training.plan_bytes import sent_out
from training.transport_proof import DEFAULT_INTERFACE

# The first step builds communicators and is left out. A few more are enough, and fit the flight recorder.
FIRST, STEPS = 1, 3


class BytesMeter:
    """Measures the second to fourth step since it was made, or as many as there are. All ranks make the same calls.

    `transport`: the rank's verdict; EFA's counters are read for EFA, else those of the interface that gloo or NCCL's
    sockets use. `node`: as for the proof, whose default it shares.
    """

    def __init__(self, transport: str, device: torch.device, node: str | None = None) -> None:
        self._device = device
        nodes: list[str] = [""] * dist.get_world_size()
        dist.all_gather_object(nodes, node or socket.gethostname())
        self._nodes = nodes
        self._source, self._read = _counters(transport, device)
        self._begin = 0
        self._before: Mapping[str, int] | str = "no step was measured"
        self._steps = 0
        self._result: dict[str, Any] | None = None

    def after_step(self) -> None:
        """Tell that an optimizer step has been called; costs nothing but after the first and the fourth."""
        self._steps += 1
        if self._steps == FIRST:
            self._settle()
            self._before = self._counted()
            dist.barrier()  # no rank of this node sends before all have read
            self._begin = mark()
        elif self._steps == FIRST + STEPS:
            self._result = self._measure(STEPS)

    def after_run(self) -> dict[str, Any]:
        """Return the figures for result.json: of this rank's node, per step. `why` is there where one is missing."""
        if self._result is None and self._steps > FIRST:
            self._result = self._measure(self._steps - FIRST)
        return self._result or {"steps": 0, "why": "bytes are measured from the second step on, and there was none"}

    def _measure(self, steps: int) -> dict[str, Any]:
        rank = dist.get_rank()
        try:
            predicted: float | str = sum(sent_out(call, rank, self._nodes) for call in since(self._begin))
        except RecorderError as error:
            predicted = str(error)
        self._settle()
        after = self._counted()
        everyone: list[Any] = [None] * len(self._nodes)
        dist.all_gather_object(everyone, predicted)
        mine = [one for one, node in zip(everyone, self._nodes, strict=True) if node == self._nodes[rank]]
        result: dict[str, Any] = {"steps": steps, "node": self._nodes[rank], "source": self._source}
        reasons = [one for one in mine if isinstance(one, str)][:1]
        if not reasons:
            result["predicted_bytes_per_step"] = sum(mine) / steps
        if isinstance(self._before, str) or isinstance(after, str):
            reasons.append(self._before if isinstance(self._before, str) else str(after))
        else:
            result["measured_bytes_per_step"] = counters.moved(self._before, after)["tx_bytes"] / steps
        if reasons:
            result["why"] = "; ".join(reasons)
        return result

    def _settle(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        dist.barrier()

    def _counted(self) -> Mapping[str, int] | str:
        try:
            return self._read()
        except counters.CountersError as error:
            return str(error)


def _counters(transport: str, device: torch.device) -> tuple[str, Callable[[], dict[str, int]]]:
    if transport == "EFA":
        return "EFA tx_bytes", counters.read_efa
    variable = "NCCL_SOCKET_IFNAME" if device.type == "cuda" else "GLOO_SOCKET_IFNAME"
    interface = os.environ.get(variable, DEFAULT_INTERFACE)

    def read() -> dict[str, int]:
        if interface == "lo":
            raise counters.CountersError("lo also carries what stays on the node: its bytes say nothing about a link")
        return counters.read_interface(interface)

    return f"{interface} tx_bytes", read
