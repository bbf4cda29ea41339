"""The driver of a run: `python -m training.train --run-name NAME --model M --data D --results URI ...`.

Its exit codes are in training/exit_codes.py. `python -m training.supervise` starts it, and again when it is lost.
"""

import dataclasses
import os
import sys
import time
import traceback
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError, WorkerGroupError
from ray.train.torch import TorchConfig, TorchTrainer

from training.arguments import Arguments, parse
from training.checks import check_inputs, with_absolute_paths
from training.deadline import deadline
from training.errors import InputError
from training.exit_codes import CRASHED, FAILED, REFUSED, SUCCEEDED
from training.heartbeat import Heartbeat
from training.loop import train_func
from training.ranks import FOLLOWER
from training.results import METRICS, RESULT, RUNNING, RunFolder
from training.resume import check_can_resume
from training.shards import check_shards
from training.submitted import submitted_at
from training.supervise import STARTED_VARIABLE

# Ray Train counts "the workers could not be placed within 60 seconds" as a failure of its controller, and by default
# tries for ever. Five minutes cover a node that is just coming back.
CONTROLLER_FAILURE_LIMIT = 5
SECONDS_BETWEEN_LOOKS = 15.0
# Enough for what happened; Ray has printed the traceback of every worker by then.
LINES_OF_CAUSE = 12


def main(argv: Sequence[str] | None = None) -> int:
    """Run a training from its command line and return the exit code."""
    started = time.time()
    try:
        args = with_absolute_paths(parse(argv, description=__doc__))
        check_inputs(args)
        connected_before = ray.is_initialized()
        ray.init(ignore_reinit_error=True)
        workers, use_gpu = wait_for_workers(args.workers, args.wait_seconds)
        check_shards(args, workers, nodes_with("GPU" if use_gpu else "CPU"))
        folder = RunFolder(args.results, args.run_name)
        start = {"status": RUNNING, "run_name": args.run_name, "arguments": dataclasses.asdict(args)}
        heartbeat = Heartbeat(folder, start)
        try:
            # Written first: missing permission costs seconds here, and the whole run at its end.
            folder.claim(args.run_name, args.launch or uuid.uuid4().hex, {"run_name": args.run_name})
            check_can_resume(args)
            heartbeat.sign()
            if args.resume is not None:
                RunFolder(args.results, args.resume).mark_lost(args.run_name)
        except OSError as error:
            raise InputError(
                "results", args.results, "a folder that can be written to", f"Check path and permissions: {error}"
            ) from error
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED

    def give_up(reason: str) -> None:
        print(f"error: run {args.run_name} failed: {reason}", file=sys.stderr, flush=True)
        heartbeat.finish({"status": "failed", "error": reason})

    timeline = {"driver": started, "submitted": submitted_at(), "supervisor": os.environ.get(STARTED_VARIABLE)}
    moments = {name: float(at) for name, at in timeline.items() if at is not None}
    try:
        with heartbeat, deadline(args.deadline_seconds, give_up):
            summary = fit(args, moments, workers, use_gpu)
        reason = summary.get("failed")
    except TrainingFailedError as error:
        reason = cause(error)
    except (SystemExit, KeyboardInterrupt):  # Ray turns SIGTERM into the first
        give_up("it was stopped by a signal")
        raise
    if reason is not None:
        heartbeat.finish({"status": "failed", "error": reason})
        if not connected_before:
            ray.shutdown()  # prints what the workers still had to say: the reason is to be the last word
        print(f"error: run {args.run_name} failed; the workers' log is above.\n{reason}", file=sys.stderr)
        return FAILED
    heartbeat.finish({"status": "succeeded"} | summary)
    if not connected_before:
        ray.shutdown()
    print(
        f"{args.steps} steps on {summary['world_size']} x {summary['device']} ({summary['backend']}): loss "
        f"{summary['first_loss']:.4f} -> {summary['last_loss']:.4f}, {summary['tokens_per_second']:,.0f} tokens/s; "
        f"{RESULT} and {METRICS} are in {folder.uri}"
    )
    return SUCCEEDED


def wait_for_workers(wanted: int | None, seconds: float) -> tuple[int, bool]:
    """Return what `choose_workers` says of the cluster, as soon as it is large enough or `seconds` have passed.

    A node that is being replaced, or a worker that was preempted, is back within minutes. Raises InputError.
    """
    until = time.monotonic() + seconds
    while True:
        resources = ray.cluster_resources()
        try:
            return choose_workers(wanted, resources)
        except InputError as error:
            if wanted is None or time.monotonic() >= until:
                raise
            left = until - time.monotonic()
            print(f"waiting for the Ray cluster, up to {left:.0f} s more: {error}", flush=True)
            time.sleep(min(SECONDS_BETWEEN_LOOKS, left))


def choose_workers(wanted: int | None, resources: Mapping[str, float]) -> tuple[int, bool]:
    """Return (number of workers, whether each has a GPU) for a cluster with `resources`.

    Raises InputError when the cluster cannot hold them: Ray would wait for them without an end.
    """
    gpus, cpus = int(resources.get("GPU", 0)), int(resources.get("CPU", 0))
    if wanted is None and not gpus:
        raise InputError(
            "workers", "(not given)", "a number, for this Ray cluster has no GPU", f"Give 1 to {cpus}, its CPUs."
        )
    workers, held, kind = wanted or gpus, gpus or cpus, "GPUs" if gpus else "CPUs"
    if workers > held:
        raise InputError(
            "workers",
            workers,
            f"at most the {held} {kind} of this Ray cluster, one per worker",
            "Lower it, or add nodes; `ray status` shows which nodes have joined.",
        )
    return workers, bool(gpus)


def nodes_with(resource: str) -> int:
    """Return the number of the Ray cluster's nodes that have some of `resource`."""
    return sum(node["Alive"] and node["Resources"].get(resource, 0) > 0 for node in ray.nodes())


def fit(args: Arguments, timeline: Mapping[str, float], workers: int, use_gpu: bool) -> dict[str, Any]:
    """Train on Ray and return what rank 0 does. Raises TrainingFailedError."""
    # Type checkers see the classes of Ray Train V1; V2 is what runs, and has what is ignored below.
    trainer = TorchTrainer(
        train_func,  # type: ignore[arg-type]
        train_loop_config=dataclasses.asdict(args) | {"timeline": dict(timeline)},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=use_gpu),
        torch_config=TorchConfig(backend="nccl" if use_gpu else "gloo"),
        run_config=RunConfig(
            name=args.run_name,
            storage_path=args.results,
            failure_config=FailureConfig(
                max_failures=args.max_failures,
                controller_failure_limit=CONTROLLER_FAILURE_LIMIT,  # type: ignore[call-arg]
            ),
        ),
    )
    summary: dict[str, Any] = trainer.fit().return_value  # type: ignore[attr-defined]
    return summary


def cause(error: Exception) -> str:
    """Return the last lines of the failure that brought the others about, and the rank that it struck first."""
    if not isinstance(error, WorkerGroupError):
        return _tail(str(error))
    texts = {rank: f"{type(e).__name__}: {e}" for rank, e in sorted(error.worker_failures.items())}
    # When one rank goes, the others fail in the collective they share with it: those say nothing.
    consequences = (FOLLOWER, "Connection closed by peer", "Connection reset by peer", "DistBackendError")
    causes = {rank: text for rank, text in texts.items() if not any(c in text for c in consequences)}
    rank, text = next(iter((causes or texts).items()))
    return f"rank {rank}: {_tail(text)}"


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LINES_OF_CAUSE:])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(CRASHED)
