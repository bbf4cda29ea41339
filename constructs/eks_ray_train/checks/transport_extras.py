"""Variables of NCCL and libfabric that ask for what the nodes have not, slow them down, or silence the log.

Sources: libfabric's fi_efa(7); aws-ofi-nccl issue 981; EC2 user guide, "Elastic Fabric Adapter"; NCCL's documentation
of environment variables.
"""

from collections.abc import Callable, Iterator

from eks_ray_train.checks.finding import Problem, Severity
from eks_ray_train.checks.rule import Phase, Subject, rule

_FIELD = "ray.transport."
# What libfabric takes for a switch, in any case.
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_LEVELS = ("INFO", "TRACE")
# Each is for finding a fault, and slows a healthy cluster down or changes what is measured.
_DIAGNOSTIC = {
    "NCCL_P2P_DISABLE": ("0", "copies between GPUs of one node go through host memory"),
    "NCCL_SHM_DISABLE": ("0", "ranks of one node talk over the network"),
    "NCCL_PROTO": ("", "NCCL no longer chooses by message size"),
    "NCCL_ALGO": ("", "NCCL no longer chooses by message size and topology"),
    "NCCL_NET_DISABLE": ("0", "NCCL uses no network plugin"),
}


@rule("transport-rdma", "device RDMA is asked for only where the EFA device can do it", phase=Phase.SETTINGS)
def rdma_where_there_is_rdma(subject: Subject) -> Iterator[Problem]:
    """Where it cannot, the job aborts: "EFA device has no rdma-read capability"."""
    node = subject.settings.gpu_nodes.instance
    value = subject.settings.ray.transport.get("FI_EFA_USE_DEVICE_RDMA", "")
    if value.lower() in _TRUE and not node.rdma_read:
        yield Problem(
            field=f"{_FIELD}FI_EFA_USE_DEVICE_RDMA",
            value=value,
            expected=f"not set: the EFA device of a {node.name} has no RDMA read, and libfabric aborts the job",
            remedy="remove it: libfabric finds out by itself what the device can do",
        )


@rule(
    "transport-rdma-off",
    "device RDMA is not switched off where the GPUs can use it",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def rdma_is_left_on(subject: Subject) -> Iterator[Problem]:
    """The recipe for g5 nodes, copied to a p4d or p5, halves its bandwidth or worse."""
    node = subject.settings.gpu_nodes.instance
    value = subject.settings.ray.transport.get("FI_EFA_USE_DEVICE_RDMA", "")
    if value.lower() in _FALSE and node.gpudirect_rdma:
        yield Problem(
            field=f"{_FIELD}FI_EFA_USE_DEVICE_RDMA",
            value=value,
            expected=f"not set: a {node.name} moves tensors from the network card straight into GPU memory, and this "
            "sends them through host memory instead",
            remedy="remove it, unless you measure the difference",
        )


@rule(
    "transport-huge-pages",
    "libfabric is not told to use huge pages that no pod asks for",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def no_huge_pages(subject: Subject) -> Iterator[Problem]:
    """With huge pages, fork() in a data loader fails: "Cannot allocate memory"."""
    if subject.settings.ray.transport.get("FI_EFA_USE_HUGE_PAGE", "0").lower() in _TRUE:
        yield Problem(
            field=f"{_FIELD}FI_EFA_USE_HUGE_PAGE",
            value=subject.settings.ray.transport["FI_EFA_USE_HUGE_PAGE"],
            expected="0, the default here: the workers ask for no huge pages, and data loaders that fork fail with "
            '"Cannot allocate memory"',
            remedy="remove it",
        )


@rule(
    "transport-diagnostic",
    "no variable is set that is for finding a fault and slows a healthy cluster down",
    phase=Phase.SETTINGS,
    severity=Severity.WARNING,
)
def nothing_left_from_debugging(subject: Subject) -> Iterator[Problem]:
    """What stays behind from a search for a fault."""
    node = subject.settings.gpu_nodes.instance
    for name, value in sorted(subject.settings.ray.transport.items()):
        # What the type needs is set in any case.
        if name in _DIAGNOSTIC and value.lower() not in (_DIAGNOSTIC[name][0], node.nccl.get(name, "").lower()):
            yield Problem(
                field=f"{_FIELD}{name}",
                value=value,
                expected=f"not set: with it {_DIAGNOSTIC[name][1]}",
                remedy="remove it, unless you measure the difference",
            )


@rule("transport-log", "NCCL writes the log in which the job looks up which network it uses", phase=Phase.SETTINGS)
def log_says_which_network(subject: Subject) -> Iterator[Problem]:
    """Before its first step the job proves from NCCL's log that it uses EFA; without the log it fails."""
    transport = subject.settings.ray.transport
    wanted: dict[str, tuple[Callable[[str], bool], str]] = {
        "NCCL_DEBUG": (
            lambda value: value.upper() in _LEVELS,
            f"{' or '.join(_LEVELS)}: the job reads in NCCL's log which network it uses, and ends where that is silent",
        ),
        "NCCL_DEBUG_SUBSYS": (
            lambda value: _logs(value, "INIT") and _logs(value, "NET"),
            "INIT and NET in it, or ALL: NCCL says under these which network it uses",
        ),
        "NCCL_DEBUG_FILE": (
            lambda value: "%h" in value and "%p" in value,
            "%h and %p in it: each process on each node needs a log of its own",
        ),
    }
    for name, (enough, expected) in wanted.items():
        value = transport.get(name)
        if value is not None and not enough(value):
            yield Problem(
                field=f"{_FIELD}{name}",
                value=value,
                expected=expected,
                remedy="remove it: the app sets what is needed",
            )


def _logs(subsystems: str, name: str) -> bool:
    listed = subsystems.removeprefix("^").upper().split(",")
    return (name in listed or "ALL" in listed) != subsystems.startswith("^")
