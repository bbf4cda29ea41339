"""The RayJobs that `bench.transport` runs: made from the standing one, created, followed and deleted with kubectl."""

import copy
import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import yaml

from bench.errors import BenchError
from rehearsal.submission import flags

Object = dict[str, Any]
Transport = Literal["efa", "socket"]
EFA: Transport = "efa"
TCP: Transport = "socket"
# All that sets the two apart. The worker pods' own environment is EFA's; Ray puts a job's env_vars over it.
VARIABLES: Mapping[Transport, Mapping[str, str]] = {
    EFA: {},
    TCP: {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none"},
}
ENTRYPOINT = "python -m training.supervise"
LABEL = "bench.transport"
# A job that its supervisor has to end, also when nobody is left to delete it.
LIMIT_SECONDS = 3600
# What a measured run does without; training would refuse some of it beside the flags that are set below.
TAKEN_OUT = ("resume", "keep-checkpoints", "evaluate-every", "evaluation-sequences", "profile-steps")
OVER = ("Complete", "Failed", "ValidationFailed")
SECONDS_BETWEEN_LOOKS = 5.0
# A connection to the cluster that is lost for half a minute is not worth a measurement.
LOOKS_LOST = 6
# The operator stops the job before it lets its RayJob go.
KUBECTL_SECONDS = 120


def made_from(standing: Object, transport: Transport, name: str, steps: int) -> Object:
    """Return a RayJob that trains `steps` steps as `standing` does, over `transport`. Raises BenchError.

    Every pod of the namespace falls under the same network policies, so it needs none of the labels.
    """
    spec = copy.deepcopy(standing["spec"])
    spec.pop("jobId", None)  # of the one submission
    spec["entrypoint"] = _entrypoint(spec["entrypoint"], transport, name, steps)
    runtime_env = yaml.safe_load(spec.get("runtimeEnvYAML") or "{}")
    runtime_env["env_vars"] = {**(runtime_env.get("env_vars") or {}), **VARIABLES[transport]}
    spec["runtimeEnvYAML"] = yaml.safe_dump(runtime_env, sort_keys=True)
    return {
        "apiVersion": standing["apiVersion"],
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": standing["metadata"]["namespace"], "labels": {LABEL: transport}},
        "spec": spec,
    }


def _entrypoint(own: str, transport: Transport, name: str, steps: int) -> str:
    given = {flag: value for flag, value in flags(own).items() if flag not in TAKEN_OUT}
    if not own.startswith(f"{ENTRYPOINT} ") or not {"run-name", "results"} <= given.keys():
        raise BenchError(
            "RayJob spec.entrypoint",
            own,
            f"{ENTRYPOINT} --run-name NAME ... --results URI",
            "name the RayJob of the Training stack with --job",
        )
    if given.get("require-transport") == TCP:
        raise BenchError(
            "--require-transport of the standing RayJob",
            TCP,
            "efa: the pods of this cluster are set to TCP, and nothing here would use EFA",
            "deploy with training.require_transport = efa, and without NCCL_NET in ray.transport",
        )
    given |= {
        "run-name": name,
        "steps": str(steps),
        "schedule": "constant",  # a cosine has to be longer than its warm-up; the rate costs no time
        "checkpoint-every": "0",
        "save-model": "off",
        "max-failures": "0",  # half of one attempt and half of another are no measurement
        "deadline-seconds": str(LIMIT_SECONDS),
        "require-transport": transport,
    }
    return shlex.join([*ENTRYPOINT.split(), *(word for flag, value in given.items() for word in (f"--{flag}", value))])


class Cluster:
    """RayJobs of one namespace, with the user's kubectl. What happens is told to `progress`."""

    def __init__(self, kubectl: str, namespace: str, progress: Callable[[str], None]) -> None:
        self._command = [kubectl, "-n", namespace]
        self._namespace = namespace
        self._progress = progress

    def standing(self, name: str | None) -> Object:
        """Return the RayJob `name`, else the newest that is not ours. Raises BenchError, also when any is running."""
        jobs: list[Object] = json.loads(self._kubectl("get", "rayjobs", "-o", "json"))["items"]
        for job in jobs:
            if (state := job.get("status", {}).get("jobDeploymentStatus", "")) not in OVER:
                raise BenchError(
                    f"RayJob {job['metadata']['name']} status.jobDeploymentStatus",
                    state or "(none yet)",
                    f"{' or '.join(OVER)}: it has the GPUs, and a second job would only wait for them",
                    f"wait until it has ended: {self._words('get', 'rayjobs', '--watch')}",
                )
        fitting = [job for job in jobs if name in (None, job["metadata"]["name"])]
        others = [job for job in fitting if name or LABEL not in job["metadata"].get("labels", {})]
        if not others:
            raise BenchError(
                f"RayJob {name or ''} in namespace {self._namespace}".replace("  ", " "),
                "not there",
                "the training job that the Training stack has made",
                "deploy it, or correct --job and --namespace",
            )
        return max(others, key=lambda job: str(job["metadata"]["creationTimestamp"]))

    @contextmanager
    def running(self, job: Object) -> Iterator[None]:
        """Create `job`, and delete it on exit, whatever the reason. Raises BenchError when it cannot be created."""
        name = job["metadata"]["name"]
        try:
            self._kubectl("create", "-f", "-", given=json.dumps(job))
            self._progress(f"{name}: created")
            yield
            self._delete(name)
        except BaseException:
            # Also when interrupted in the creation, which may have happened, or in the deletion.
            self._delete(name)
            raise

    def follow(self, name: str) -> Mapping[str, str]:
        """Return the status that the RayJob `name` ends with. Raises BenchError when it does not end in time."""
        until, said, lost = time.monotonic() + LIMIT_SECONDS, "", 0
        while time.monotonic() < until:
            try:
                found = self._kubectl("get", "rayjob", name, "--ignore-not-found", "-o", "json")
                lost = 0
            except BenchError:
                lost += 1
                if lost == LOOKS_LOST:
                    raise
            else:
                if not found:
                    raise BenchError(
                        f"RayJob {name}", "deleted by somebody else", "to be left alone until it ends", "try again"
                    )
                status: Mapping[str, str] = json.loads(found).get("status") or {}
                parts = [status.get(field) for field in ("jobDeploymentStatus", "jobStatus", "reason", "message")]
                if (line := ", ".join(part for part in parts if part)) != said:
                    said = line
                    self._progress(f"{name}: {line}")
                if status.get("jobDeploymentStatus") in OVER:
                    return status
            time.sleep(SECONDS_BETWEEN_LOOKS)
        remedy = "look at its events and log; if it was training, give fewer --steps"
        raise BenchError(f"RayJob {name}", said or "no status", f"to end within {LIMIT_SECONDS} s", remedy)

    def _delete(self, name: str) -> None:
        deletion = ("delete", "rayjob", name, "--ignore-not-found")
        try:
            self._kubectl(*deletion, f"--timeout={KUBECTL_SECONDS}s")
            self._progress(f"{name}: deleted")
        except BenchError as error:
            self._progress(f"{name} may still run, and must be deleted by hand: {self._words(*deletion)}\n{error}")

    def _words(self, *arguments: str) -> str:
        return shlex.join([*self._command, *arguments])

    def _kubectl(self, *arguments: str, given: str | None = None) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own kubectl
                [*self._command, *arguments],
                input=given,
                capture_output=True,
                text=True,
                timeout=KUBECTL_SECONDS + 10,
                start_new_session=True,  # a terminal's Ctrl-C must not end the deletion
            )
        except OSError as error:
            remedy = "install it, or give its path with --kubectl"
            raise BenchError(
                "--kubectl", self._command[0], f"a program that can be started: {error}", remedy
            ) from error
        except subprocess.TimeoutExpired as error:
            raise self._refused(arguments, f"no end within {error.timeout:.0f} s") from error
        if done.returncode:
            # Without kubectl's log lines, which say of each try what the last line says.
            said = [line for line in done.stderr.strip().splitlines() if not re.match(r"E\d{4} ", line)]
            raise self._refused(arguments, "\n".join(said) or f"exit code {done.returncode}")
        return done.stdout

    def _refused(self, arguments: tuple[str, ...], said: str) -> BenchError:
        return BenchError(
            self._words(*arguments),
            said,
            "an answer of the cluster, and the permission to read, create and delete RayJobs",
            "set up kubectl with the command in the Cluster stack's output",
        )
