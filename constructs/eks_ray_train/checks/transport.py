"""Variables of NCCL, libfabric and aws-ofi-nccl with which NCCL would use TCP, or find no network at all.

NCCL is the library with which GPUs exchange tensors, EFA the network card that it should use between nodes, libfabric
with aws-ofi-nccl what joins the two. Sources: aws-ofi-nccl issues 547 and 981 and its README; NCCL's documentation of
environment variables; the EFA cheatsheet of awsome-distributed-training.
"""

from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

_FIELD = "ray.transport."
_NETS = ("libfabric", "ofi", "aws libfabric")
_PLUGIN = "ofi"


@rule("transport-provider", "libfabric is told to use EFA", phase=Phase.SETTINGS)
def provider_is_efa(subject: Subject) -> Iterator[Problem]:
    """Any other provider is TCP, or nothing."""
    value = subject.settings.ray.transport["FI_PROVIDER"]
    if value != "efa":
        yield Problem(
            field=f"{_FIELD}FI_PROVIDER",
            value=value,
            expected='"efa": with any other provider, traffic between nodes does not use the EFA that you pay for',
            remedy='set FI_PROVIDER = "efa"',
        )


@rule("transport-plugin", "NCCL loads the plugin that talks to EFA", phase=Phase.SETTINGS)
def plugin_is_ofi(subject: Subject) -> Iterator[Problem]:
    """NCCL loads the file of that name, or libnccl-net-<name>.so, and minds the case."""
    value = subject.settings.ray.transport["NCCL_NET_PLUGIN"]
    needless = value == "none" and subject.settings.training.require_transport == "socket"
    if value != _PLUGIN and not value.endswith(".so") and not needless:
        yield Problem(
            field=f"{_FIELD}NCCL_NET_PLUGIN",
            value=value,
            expected=f"{_PLUGIN}, in lower case, or the path of a .so file: aws-ofi-nccl, without which NCCL does not "
            "know EFA",
            remedy=f'set NCCL_NET_PLUGIN = "{_PLUGIN}"',
        )


@rule("transport-net", "NCCL may use no other network than the one over EFA, or that required", phase=Phase.SETTINGS)
def net_is_the_required_one(subject: Subject) -> Iterator[Problem]:
    """NCCL_NET is what makes NCCL fail where it would fall back to TCP in silence."""
    value = subject.settings.ray.transport.get("NCCL_NET")
    if subject.settings.training.require_transport == "socket":
        if value is None or value.lower() != "socket":
            yield Problem(
                field=f"{_FIELD}NCCL_NET",
                value=value or "not set",
                expected='"Socket" with training.require_transport = "socket": by default here NCCL uses EFA or fails',
                remedy='set NCCL_NET = "Socket" and NCCL_NET_PLUGIN = "none", or require_transport = "efa"',
            )
    elif value is not None and value.lower() not in _NETS:
        yield Problem(
            field=f"{_FIELD}NCCL_NET",
            value=value,
            expected="Libfabric (the default here): Socket is TCP, many times slower, and with any other name NCCL "
            "finds no network and ends",
            remedy="remove NCCL_NET from ray.transport",
        )


@rule("transport-proof", "a transport is required only where bytes leave a node", phase=Phase.SETTINGS)
def something_can_be_proven(subject: Subject) -> Iterator[Problem]:
    """On one node the proof finds no channel between nodes, and the job ends before its first step."""
    required = subject.settings.training.require_transport
    if required != "none" and subject.settings.gpu_nodes.count == 1:
        yield Problem(
            field="training.require_transport",
            value=required,
            expected='"none" with gpu_nodes.count = 1: no byte leaves the node, so the job could prove nothing and '
            "would end before its first step",
            remedy='set require_transport = "none", or gpu_nodes.count = 2 or more',
        )


@rule("transport-interface", "NCCL's own sockets use an interface that reaches other nodes", phase=Phase.SETTINGS)
def interface_is_not_the_loopback(subject: Subject) -> Iterator[Problem]:
    """A pod has eth0 and lo."""
    value = subject.settings.ray.transport["NCCL_SOCKET_IFNAME"]
    if not _selects(value, "eth0") or _selects(value, "lo"):
        yield Problem(
            field=f"{_FIELD}NCCL_SOCKET_IFNAME",
            value=value,
            expected='"eth0", the one interface of a pod that other nodes can reach; ranks find one another through it',
            remedy='set NCCL_SOCKET_IFNAME = "eth0"',
        )


def _selects(interfaces: str, name: str) -> bool:
    # As NCCL reads it: each part is how a name begins, "=" wants the whole name, "^" leaves out what matches.
    excluding = interfaces.startswith("^")
    exact = interfaces.removeprefix("^").startswith("=")
    parts = [part for part in interfaces.lstrip("^=").split(",") if part]
    matches = name in parts if exact else any(name.startswith(part) for part in parts)
    return bool(parts) and matches != excluding
