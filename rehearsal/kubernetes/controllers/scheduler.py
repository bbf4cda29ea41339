"""Places pods on nodes: first fit, by priority, evicting pods of lower priority where that makes room."""

from rehearsal.kubernetes.api.objects import Object, name_of, with_condition
from rehearsal.kubernetes.controllers.base import Objects
from rehearsal.kubernetes.controllers.placement import finished, obstacles, unschedulable_message


class Scheduler:
    """Looks at all pods without a node whenever something changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Place what can be placed; say of the rest why not."""
        waiting = [pod for pod in self._objects.of("Pod") if not pod["spec"].get("nodeName") and not finished(pod)]
        for pod in sorted(waiting, key=_order):
            self._place(pod)
        return None

    def _place(self, pod: Object) -> None:
        nodes = self._objects.of("Node")
        reasons = [obstacles(pod, node, self._on(node)) for node in nodes]
        free = next((node for node, reason in zip(nodes, reasons, strict=True) if not reason), None)
        if free is None and (victims := self._victims(pod, nodes)):
            node, evicted = victims
            for victim in evicted:
                self._objects.delete(victim)
            free = node if not obstacles(pod, node, self._on(node)) else None
        if free is None:
            message = unschedulable_message(reasons)
            conditions = with_condition(pod, "PodScheduled", "False", "Unschedulable", message)
            self._objects.set_status(pod, {"phase": "Pending", "conditions": conditions})
            return
        bound = self._objects.bind(pod, name_of(free))
        self._objects.set_status(bound, {"conditions": with_condition(bound, "PodScheduled", "True", "Scheduled")})

    def _on(self, node: Object) -> list[Object]:
        pods = self._objects.of("Pod")
        return [pod for pod in pods if pod["spec"].get("nodeName") == name_of(node) and not finished(pod)]

    def _victims(self, pod: Object, nodes: list[Object]) -> tuple[Object, list[Object]] | None:
        """Return a node, and the fewest of its pods (the least important ones) without which the pod fits there."""
        if pod["spec"]["preemptionPolicy"] == "Never":
            return None
        found: list[tuple[Object, list[Object]]] = []
        for node in nodes:
            staying = self._on(node)
            lower = sorted((p for p in staying if _priority(p) < _priority(pod)), key=_order, reverse=True)
            remaining = [p for p in staying if p not in lower]
            if not lower or obstacles(pod, node, remaining):
                continue
            # As many as can stay do, the more important ones first.
            evicted = []
            for candidate in reversed(lower):
                if obstacles(pod, node, [*remaining, candidate]):
                    evicted.append(candidate)
                else:
                    remaining.append(candidate)
            found.append((node, evicted))
        return min(found, key=lambda choice: (max(map(_priority, choice[1])), len(choice[1])), default=None)


def _priority(pod: Object) -> int:
    return int(pod["spec"].get("priority", 0))


def _order(pod: Object) -> tuple[int, str, str]:
    return (-_priority(pod), pod["metadata"]["creationTimestamp"], name_of(pod))
