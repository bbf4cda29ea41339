"""Every pod fits its node, and all do together: one that does not is Pending while the nodes bill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.node_capacity import Amounts, allocatable
from eks_ray_train.checks.pods import DAEMONS_ON_EVERY_NODE, DAEMONS_ON_GPU_NODES, SYSTEM_PODS, Pod, pods_of
from eks_ray_train.checks.rule import Phase, Subject, rule
from k8s.pods import FABRIC_CHECK_PRIORITY, WORKER_PRIORITY


@rule("pod-fits", "every pod fits its node, and all of them together do", phase=Phase.OBJECTS)
def pods_fit(subject: Subject) -> Iterator[Problem]:
    """By first fit of the largest first, on the nodes that the settings ask for."""
    pods = list(pods_of(subject.objects))
    system, gpu = subject.settings.system_nodes, subject.settings.gpu_nodes
    yield from _place(
        [*(pod for pod in pods if pod.role == "system"), *SYSTEM_PODS],
        nodes=system.count,
        room=allocatable(system.instance) - DAEMONS_ON_EVERY_NODE,
        where=f"{system.count} x {system.instance_type} (system_nodes)",
    )
    # The fabric check takes the GPUs from the workers while it runs, so the two are never on a node together.
    for absent in (FABRIC_CHECK_PRIORITY, WORKER_PRIORITY):
        yield from _place(
            [pod for pod in pods if pod.role == "gpu-worker" and pod.priority_class != absent],
            nodes=gpu.count,
            room=allocatable(gpu.instance) - DAEMONS_ON_EVERY_NODE - DAEMONS_ON_GPU_NODES,
            where=f"{gpu.count} x {gpu.instance_type} (gpu_nodes)",
        )


@dataclass
class _Node:
    free: Amounts
    pods: list[str] = field(default_factory=list)


def _place(pods: Sequence[Pod], *, nodes: int, room: Amounts, where: str) -> Iterator[Problem]:
    free = [_Node(room) for _ in range(nodes)]
    ordered = sorted(pods, key=lambda pod: (-pod.requests.memory_mib, pod.name))
    for position, pod in enumerate(ordered):
        # On a single node, what follows has to fit beside it.
        rest = ordered[position + 1 :] if nodes == 1 else []
        for _ in range(pod.count):
            target = next((node for node in free if pod.requests.fits(node.free)), None)
            if target is None:
                yield _does_not_fit(pod, max(free, key=lambda node: node.free.memory_mib), rest, where)
                break
            target.free = target.free - pod.requests
            target.pods.append(pod.name)


def _does_not_fit(pod: Pod, best: _Node, rest: Sequence[Pod], where: str) -> Problem:
    # What the settings give no size to can only be made room for.
    own = pod.field.startswith("ray.")
    others = [*best.pods, *(each.name for each in rest if own)]
    beside = f", beside {', '.join(dict.fromkeys(others))}" if others else ""
    room = best.free
    for each in rest if own else ():
        for _ in range(each.count):
            room = room - each.requests
    return Problem(
        field=pod.field,
        value=f"{pod.requests} for {pod.name}",
        expected=f"at most {room.rounded_down()}, the most that is free on one of {where}{beside}"
        if best.free.pods
        else f"no pod more: {where} have as many as EKS allows",
        remedy=f"{_ask_for_less(pod, room) if own else _MAKE_ROOM[pod.role]}, or choose a larger instance type"
        f"{' or more nodes' if best.pods else ''}",
    )


def _ask_for_less(pod: Pod, room: Amounts) -> str:
    """The largest whole numbers that fit, as lines of the file."""
    if pod.field == "ray.worker":
        return "leave [ray.worker] and ray.shared_memory_gib out, for what such a node has, or ask for less"
    cpu = min(pod.requests.cpu_m, room.cpu_m) // 1000
    gib = int(min(pod.requests.memory_mib, room.memory_mib)) // 1024
    return f"set {pod.field}.cpu = {cpu} and {pod.field}.memory_gib = {gib}" if cpu > 0 and gib > 0 else "ask for less"


_MAKE_ROOM = {"system": "lower ray.head", "gpu-worker": "lower ray.worker"}
