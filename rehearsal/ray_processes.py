"""A Ray cluster of real `ray start` processes on 127.0.0.1: one head, and one raylet per worker pod."""

import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rehearsal import loopback
from rehearsal.errors import RehearsalError
from rehearsal.process_tree import descendants, send
from rehearsal.processes import OwnProcesses, tail
from rehearsal.shape import Shape

LOOPBACK = "127.0.0.1"
# Below the range from which the kernel takes ports for outgoing connections, so that nobody gets ours by chance.
PORTS = range(20000, 32000)
# Training puts little into the object store; Ray refuses less than 75 MiB.
OBJECT_STORE_BYTES = 80 * 1024**2
# A Unix socket's path may have 107 characters (103 on macOS); this much of it Ray puts below its --temp-dir.
SOCKET_PATH_LIMIT = 103
RAYS_PART = len("/session_2000-01-01_00-00-00_000000_4194304/sockets/plasma_store")
POLL_SECONDS = 0.25


class LocalRay:
    """The local cluster. Its processes belong to `processes`, which ends them."""

    def __init__(self, processes: OwnProcesses, folder: Path, ray_cluster: dict[str, Any]) -> None:
        check_socket_paths(folder)
        self._processes = processes
        self._folder = folder
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._newest = 0
        self._gcs_port, self._dashboard_port = free_ports(2)
        self.gcs_address = f"{LOOPBACK}:{self._gcs_port}"
        self.address = f"http://{LOOPBACK}:{self._dashboard_port}"
        self.token = secrets.token_hex(32) if wants_token(ray_cluster) else None
        self.headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._head_parameters = ray_cluster["spec"]["headGroupSpec"].get("rayStartParams", {})

    def start(self, shape: Shape, deadline: float, progress: Callable[[str], None]) -> None:
        """Start the cluster and return when all nodes have joined. Raises RehearsalError, also after `deadline` s."""
        end = time.monotonic() + deadline
        head = ["--head", f"--port={self._gcs_port}", "--dashboard-host", LOOPBACK, "--dashboard-port"]
        head += [str(self._dashboard_port)]
        head += [f"--{name}={self._head_parameters.get(name, '0')}" for name in ("num-cpus", "num-gpus")]
        self._start_node("head", head)
        # As KubeRay's wait-gcs-ready does in each worker pod.
        self._wait("the head's GCS", lambda: (accepts(self._gcs_port), "not listening yet"), end, progress)
        for number in range(1, shape.pods + 1):
            self._start_worker(number, shape.slots)
        wanted = shape.pods + 1

        def joined() -> tuple[bool, str]:
            nodes = self.nodes_alive()
            return nodes == wanted, f"{nodes} of {wanted}"

        self._wait("nodes", joined, end, progress)

    @property
    def workers(self) -> list[str]:
        """The names of the worker pods' nodes that have not been killed."""
        return [name for name in self._started if name != "head"]

    def add_worker(self, slots: int) -> None:
        """Start a node as KubeRay does for a pod whose host was lost; training waits until it has joined."""
        self._start_worker(self._newest + 1, slots)

    def pids(self, name: str) -> list[int]:
        """Return the processes of the node `name` ("head", or one of `workers`)."""
        node = self._started[name].pid
        return [node, *descendants(node)]

    def kill(self, name: str) -> None:
        """End the node `name` with all its processes at once, by SIGKILL: as when its host is lost."""
        stopped: set[int] = set()
        while new := set(self.pids(name)) - stopped:  # what is stopped starts nothing more
            for pid in new:
                send(pid, signal.SIGSTOP)
            stopped |= new
        for pid in stopped:
            send(pid, signal.SIGKILL)
        self._started.pop(name).wait()

    def check(self) -> None:
        """Raise RehearsalError when a node has died, other than by `kill`."""
        for name, process in self._started.items():
            if process.poll() is not None:
                raise RehearsalError(
                    f"Ray's {name}",
                    f"died with exit code {process.returncode}; the end of its log:\n{tail(self._log(name), 25)}",
                    "to run until the rehearsal ends",
                    "The log says why; most often memory is short, or another program took a port: run it again.",
                )

    def nodes_alive(self) -> int:
        """Return how many nodes the head knows as alive; 0 while it does not answer."""
        try:
            answer = json.loads(self.get("/nodes?view=summary", self.headers))
            return sum(node["raylet"].get("state") == "ALIVE" for node in answer["data"]["summary"])
        except (OSError, ValueError, KeyError):
            return 0

    def refuses_strangers(self) -> bool:
        """Whether the job API refuses a request that has no token."""
        try:
            self.get("/api/jobs/", {})
        except urllib.error.HTTPError as error:
            return error.code in (401, 403)
        return False

    def get(self, path: str, headers: dict[str, str]) -> bytes:
        """GET `path` from the dashboard. Raises OSError."""
        request = urllib.request.Request(self.address + path, headers=headers)  # noqa: S310 - http and 127.0.0.1
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
            body: bytes = response.read()
        return body

    def _start_worker(self, number: int, slots: int) -> None:
        self._newest = number
        self._start_node(f"worker-{number}", [f"--address={self.gcs_address}", f"--num-cpus={slots}", "--num-gpus=0"])

    def _start_node(self, name: str, arguments: list[str]) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *arguments]
        command += [f"--node-ip-address={LOOPBACK}", f"--temp-dir={self._folder / name}"]
        command += [f"--dashboard-agent-listen-port={free_ports(1)[0]}", "--disable-usage-stats"]
        command += [f"--object-store-memory={OBJECT_STORE_BYTES}"]
        variables = ray_variables(os.environ, self.token) | {"RAY_TMPDIR": str(self._folder / name)}
        # From the folder above this package: RAY_START_HOOK must be importable, and PYTHONPATH would reach the job.
        above = Path(__file__).resolve().parent.parent
        self._started[name] = self._processes.start(command, variables, above, self._log(name))

    def _wait(
        self, what: str, state: Callable[[], tuple[bool, str]], end: float, progress: Callable[[str], None]
    ) -> None:
        shown = ""
        while True:
            ready, now = state()
            if ready:
                return
            self.check()
            if now != shown:
                progress(f"  waiting for {what}: {now}")
                shown = now
            if time.monotonic() > end:
                logs = "\n".join(f"-- {name}\n{tail(self._log(name), 8)}" for name in self._started)
                raise RehearsalError(
                    what, f"{now}, at the deadline", "all up", f"Is the machine busy? The ends of the logs:\n{logs}"
                )
            time.sleep(POLL_SECONDS)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def wants_token(ray_cluster: dict[str, Any]) -> bool:
    """Whether the RayCluster asks for token authentication."""
    return bool(ray_cluster["spec"].get("authOptions", {}).get("mode") == "token")


def ray_variables(inherited: dict[str, str] | os._Environ[str], token: str | None) -> dict[str, str]:
    """Return the environment of Ray's processes: the user's, without what would lead to another cluster or code."""
    kept = {name: value for name, value in inherited.items() if not name.startswith("RAY_") and name != "PYTHONPATH"}
    authentication = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}
    # Draining waits up to 30 seconds for running work, which here is to be ended.
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0", "OMP_NUM_THREADS": "1"}
    # Workers started ahead lack the job's runtime environment, so none of them would ever be used.
    quiet |= {"RAY_prestart_worker_first_driver": "0", "RAY_enable_worker_prestart": "0"}
    # The seconds that a worker waits until the head has registered: Ray's own 20 are short on a busy machine.
    quiet |= {"RAY_NUM_REDIS_GET_RETRIES": "120"}
    # The job's entrypoint says `python`, which must be the one that has Ray.
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{inherited.get('PATH', '')}"
    return kept | loopback.VARIABLES | authentication | quiet


def socket_paths_fit(folder: Path) -> bool:
    """Whether Ray nodes below `folder` can have their sockets there."""
    return longest_socket_path(folder) <= SOCKET_PATH_LIMIT


def longest_socket_path(folder: Path) -> int:
    """Return the length of the longest path of a socket of a Ray node below `folder`."""
    return len(str(folder)) + len("/worker-99") + RAYS_PART


def check_socket_paths(folder: Path) -> None:
    """Raise RehearsalError when the sockets of a Ray node below `folder` would have too long a path."""
    longest = longest_socket_path(folder)
    if longest > SOCKET_PATH_LIMIT:
        raise RehearsalError(
            "temporary folder",
            f"{folder}: Ray's sockets would have paths of {longest} characters",
            f"at most {SOCKET_PATH_LIMIT}, the operating system's limit",
            "Set TMPDIR to a shorter path, such as /tmp.",
        )


def free_ports(count: int) -> list[int]:
    """Return distinct ports on which nobody listens now."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise RehearsalError(
        "ports", "all taken", f"{count} free between {PORTS.start} and {PORTS.stop}", "End what listens."
    )


def accepts(port: int) -> bool:
    """Whether something listens on `port`."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0
