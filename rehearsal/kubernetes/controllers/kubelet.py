"""What the nodes do: pods that are placed run, those of Jobs end, and device plugins show a node's devices."""

import json
import zlib
from typing import Any

from rehearsal.kubernetes.api.objects import Object, name_of, namespace_of, seconds_since, timestamp, with_condition
from rehearsal.kubernetes.controllers.base import Objects
from rehearsal.kubernetes.controllers.placement import finished

# Set on a Job's pod template, to say how its pods end: an exit code, or OUTSIDE when someone else ends them.
EXIT_CODE = "rehearsal/exit-code"
OUTSIDE = "outside"
DEVICES = "rehearsal/devices"
# The DaemonSets that make the kubelet offer a resource.
PLUGINS = {"nvidia-device-plugin": "nvidia.com/gpu", "aws-efa-k8s-device-plugin": "vpc.amazonaws.com/efa"}
# Times in objects are whole seconds, so a Job's pod ends one to two seconds after it started.
_JOB_SECONDS = 1.0


class Kubelet:
    """Runs the pods of all nodes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Start placed pods, end those of Jobs, remove those of nodes that are gone, ended ones too."""
        nodes = {name_of(node) for node in self._objects.of("Node")}
        running_jobs = False
        for pod in self._objects.of("Pod"):
            node = pod["spec"].get("nodeName")
            if not node or (finished(pod) and node in nodes):
                continue
            if node not in nodes:
                self._objects.delete(pod)
            elif pod["status"]["phase"] == "Pending":
                self._start(pod)
            elif _ends_by_itself(pod):
                running_jobs = True
                if seconds_since(pod["status"]["startTime"]) >= _JOB_SECONDS:
                    self._end(pod)
        return 0.2 if running_jobs else None

    def _start(self, pod: Object) -> None:
        if missing := self._missing_volume(pod):
            statuses = _container_statuses(pod, {"waiting": {"reason": "ContainerCreating", "message": missing}})
            self._objects.set_status(pod, {"containerStatuses": statuses})
            return
        status: Object = {
            "phase": "Running",
            "startTime": timestamp(),
            "podIP": _address(pod),
            "containerStatuses": _container_statuses(pod, {"running": {"startedAt": timestamp()}}),
        }
        ready = pod
        for kind in ("Initialized", "ContainersReady", "Ready"):
            ready = {
                **ready,
                "status": {**ready["status"], "conditions": with_condition(ready, kind, "True", "Started")},
            }
        self._objects.set_status(pod, {**status, "conditions": ready["status"]["conditions"]})

    def _end(self, pod: Object) -> None:
        code = int((pod["metadata"].get("annotations") or {}).get(EXIT_CODE, "0"))
        self._objects.set_status(pod, ended(pod, code))

    def _missing_volume(self, pod: Object) -> str:
        for volume in pod["spec"].get("volumes") or []:
            for field, kind, key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
                source = volume.get(field)
                if not source or source.get("optional"):
                    continue
                if self._objects.find(kind, namespace_of(pod), source[key]) is None:
                    what = f'{kind.lower()} "{source[key]}" not found'
                    return f'MountVolume.SetUp failed for volume "{volume["name"]}": {what}'
        return ""


class DevicePlugins:
    """Offers the devices of a node (its annotation `rehearsal/devices`) while the plugin for them runs there."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def reconcile(self) -> float | None:
        """Bring the nodes' allocatable devices up to date."""
        served: dict[str, set[str]] = {resource: set() for resource in PLUGINS.values()}
        for daemon_set in self._objects.of("DaemonSet"):
            if resource := PLUGINS.get(name_of(daemon_set)):
                for pod in self._objects.owned("Pod", daemon_set):
                    if pod["status"]["phase"] == "Running":
                        served[resource].add(pod["spec"]["nodeName"])
        for node in self._objects.of("Node"):
            devices = json.loads((node["metadata"].get("annotations") or {}).get(DEVICES, "{}"))
            now: dict[str, Any] = {
                resource: str(count) if name_of(node) in served.get(resource, set()) else "0"
                for resource, count in devices.items()
            }
            status = node.get("status") or {}
            amounts = {field: {**(status.get(field) or {}), **now} for field in ("capacity", "allocatable")}
            self._objects.set_status(node, amounts)
        return None


def ended(pod: Object, code: int) -> Object:
    """Return the status of a pod whose containers ended with an exit code."""
    state = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "finishedAt": timestamp()}
    reason = "PodCompleted" if code == 0 else "PodFailed"
    return {
        "phase": "Succeeded" if code == 0 else "Failed",
        "containerStatuses": _container_statuses(pod, {"terminated": state}),
        "conditions": with_condition(pod, "Ready", "False", reason),
    }


def _ends_by_itself(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    outside = (pod["metadata"].get("annotations") or {}).get(EXIT_CODE) == OUTSIDE
    return any(owner["kind"] == "Job" for owner in owners) and not outside


def _container_statuses(pod: Object, state: Object) -> list[Object]:
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": container["image"],
            "ready": "running" in state,
            "started": "running" in state,
            "restartCount": 0,
            "state": state,
        }
        for container in pod["spec"]["containers"]
    ]


def _address(pod: Object) -> str:
    number = zlib.crc32(pod["metadata"]["uid"].encode())
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
