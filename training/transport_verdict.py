"""Whether bytes between hosts really went over EFA: one verdict per rank, with what it rests on."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from training.errors import TrainingError
from training.transport_counters import MUST_MOVE
from training.transport_log import NcclLog

Kind = Literal["EFA", "SOCKET", "UNKNOWN"]
Required = Literal["efa", "socket", "none"]
REQUIREMENTS: tuple[Required, ...] = ("efa", "socket", "none")

# The plugin's network was "AWS Libfabric" until 1.12, and becomes what NCCL_NET asks for since.
_LIBFABRIC = {"libfabric", "aws libfabric", "ofi"}
_EFA_PROVIDER = "efa"
# Counters are read a moment apart on the ranks of a node, and traffic of others only adds.
_SHARE_THAT_MUST_MOVE = 0.9
_WARNINGS_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one rank saw. `moved`: change of the EFA counters; `socket_moved`: bytes sent by the ordinary interface.

    `expected_bytes`: the least that had to leave this rank's node. Each `*_error` says why its part is missing.
    """

    rank: int
    node: str
    backend: str
    nodes: int
    expected_bytes: int = 0
    log: NcclLog | None = None
    log_error: str | None = None
    moved: Mapping[str, int] | None = None
    counters_error: str | None = None
    exchange_error: str | None = None
    socket_moved: int | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One rank's verdict. `remedy`: what to do where another transport is required."""

    kind: Kind
    reason: str
    remedy: str
    seen: Observation = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """The verdict and its evidence, for result files."""
        return dataclasses.asdict(self)


class TransportError(TrainingError):
    """The required transport is not proven. `verdicts`: one JSON object per rank that was heard."""

    def __init__(self, message: str, verdicts: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message, verdicts)  # both, so that pickling restores them
        self.message = message
        self.verdicts = verdicts

    def __str__(self) -> str:
        """Give the message."""
        return self.message


def judge(seen: Observation) -> Verdict:
    """Weigh one rank's observation. Anything missing is UNKNOWN: only log and counters together are EFA."""
    kind, reason, remedy = _weigh(seen)
    return Verdict(kind=kind, reason=reason, remedy=remedy, seen=seen)


def _weigh(seen: Observation) -> tuple[Kind, str, str]:
    if seen.backend != "nccl":
        return "SOCKET", f"{seen.backend}: not EFA", "EFA needs NCCL, so GPUs; without them require no transport"
    if seen.nodes < 2:
        return "UNKNOWN", "all ranks are on one node: nothing crosses", "Add a node, or require no transport"
    if seen.exchange_error is not None:
        said = "; ".join(seen.log.warnings[-_WARNINGS_SHOWN:]) if seen.log else seen.log_error
        return (
            "UNKNOWN",
            f"NCCL could not exchange bytes between the nodes: {seen.exchange_error}. Its log: {said or 'nothing'}",
            "If the plugin was not found, check NCCL_NET_PLUGIN and the image; if EFA was not, check that the pod asks "
            "for vpc.amazonaws.com/efa and that the security group lets itself in and out",
        )
    log = seen.log
    if log is None:
        return "UNKNOWN", seen.log_error or "no NCCL log", "Without its log NCCL's choice is not known"
    if not log.channels:
        return (
            "UNKNOWN",
            f"{log.path} names no channel between hosts (via NET/...)",
            "Set NCCL_DEBUG=INFO and leave INIT and NET in NCCL_DEBUG_SUBSYS",
        )
    others = {name: count for name, count in log.channels.items() if name.lower() not in _LIBFABRIC}
    if others:
        listed = ", ".join(f"{count} via NET/{name}" for name, count in sorted(others.items()))
        said = "; ".join(log.warnings[-_WARNINGS_SHOWN:])
        found = f"{listed} of {sum(log.channels.values())} channels between hosts"
        return (
            "SOCKET" if "Socket" in others else "UNKNOWN",
            f"{found}; NCCL says: {said}" if said else found,
            "Set NCCL_NET=Libfabric, so that NCCL fails instead, and read its log for why the plugin was not used",
        )
    if log.provider is None:
        return "UNKNOWN", f"{log.path} does not name libfabric's provider", "Leave INIT in NCCL_DEBUG_SUBSYS"
    if log.provider != _EFA_PROVIDER:
        return "SOCKET", f"libfabric uses the provider {log.provider}, not efa", "Set FI_PROVIDER=efa"
    if seen.moved is None:
        return (
            "UNKNOWN",
            f"NCCL names EFA, but its bytes cannot be counted: {seen.counters_error}",
            "Mount the host's /sys into the worker pod",
        )
    least = seen.expected_bytes * _SHARE_THAT_MUST_MOVE
    if short := {name: seen.moved.get(name, 0) for name in MUST_MOVE if seen.moved.get(name, 0) < least}:
        listed = ", ".join(f"{name} by {count:,}" for name, count in short.items())
        elsewhere = "" if seen.socket_moved is None else f"; the ordinary interface sent {seen.socket_moved:,}"
        return (
            "UNKNOWN",
            f"NCCL names EFA, but {listed} moved of at least {seen.expected_bytes:,} bytes{elsewhere}",
            "Check that the counters are of the interface that this pod was given",
        )
    return (
        "EFA",
        f"{sum(log.channels.values())} channels via EFA, {seen.moved['tx_bytes']:,} bytes sent by it",
        "To compare with TCP, set NCCL_NET=Socket and NCCL_NET_PLUGIN=none",
    )


def check(verdicts: Sequence[Verdict], required: Required) -> None:
    """Raise TransportError unless every rank's verdict is the required one; `none` requires nothing."""
    wrong = [verdict for verdict in verdicts if required != "none" and verdict.kind != required.upper()]
    if not wrong:
        return
    # Ranks of a node mostly share a reason: say it once.
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for verdict in wrong:
        place = f"rank {verdict.seen.rank} on {verdict.seen.node}"
        by_reason.setdefault((verdict.kind, verdict.reason, verdict.remedy), []).append(place)
    lines = [f"transport = {', '.join(sorted({v.kind for v in wrong}))} on {len(wrong)} of {len(verdicts)} ranks"]
    lines += [f"    expected: {required.upper()} on every rank, proven before the first step"]
    for (kind, reason, remedy), places in by_reason.items():
        lines += [f"    {kind}: {reason} ({', '.join(places)})", f"    to do:    {remedy}"]
    raise TransportError("\n".join(lines), [verdict.to_json() for verdict in verdicts])
