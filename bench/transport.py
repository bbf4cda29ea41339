"""Measures EFA against TCP on a deployed cluster: ``python -m bench.transport``.

The standing RayJob runs again, shortened, once over each in every round, with nothing but the transport changed. Needs
kubectl set up for the cluster, and AWS credentials that may read the results bucket.
"""

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from bench.errors import BenchError
from bench.transport_jobs import EFA, TCP, Cluster, Transport, made_from
from bench.transport_report import NAMES, SHOWS, SHOWS_NOT, Run, as_json, render
from rehearsal.processes import Interrupted, interruptible
from rehearsal.submission import flags
from training.results import RESULT, RUN, TRANSPORT, RunFolder

# Step times are read from the GPUs ten at a time, and the first step counts for none.
LEAST_STEPS = 20


def compare(cluster: Cluster, job: str | None, steps: int, rounds: int, progress: Callable[[str], None]) -> list[Run]:
    """Return the figures of all runs, in their order. Raises BenchError: unless all are proven there are none."""
    standing = cluster.standing(job)
    given = flags(standing["spec"]["entrypoint"])
    series = secrets.token_hex(4)
    # What goes first meets the nodes as the last round left them, so both do in turn.
    order = [transport for number in range(rounds) for transport in ((EFA, TCP) if number % 2 == 0 else (TCP, EFA))]
    names = [f"transport-{transport}-{number + 1}-{series}" for number, transport in enumerate(order)]
    jobs = [made_from(standing, transport, name, steps) for transport, name in zip(order, names, strict=True)]
    _read(RunFolder(given["results"], given["run-name"]), RUN)  # before anything is paid for
    runs: list[Run] = []
    for transport, name, made in zip(order, names, jobs, strict=True):
        folder = RunFolder(given["results"], name)
        progress(f"run {len(runs) + 1} of {len(order)}, over {NAMES[transport]}; its results stay in {folder.uri}")
        with cluster.running(made):
            ended = cluster.follow(name)
            runs.append(measured(transport, name, folder, ended))
    return runs


def measured(transport: Transport, name: str, folder: RunFolder, ended: Mapping[str, str]) -> Run:
    """Return a run's figures, given the status that its RayJob ended with.

    Raises BenchError unless it has succeeded, and every rank's verdict is `transport`.
    """
    verdicts = json.loads(_read(folder, TRANSPORT) or "[]")
    result = json.loads(_read(folder, RESULT) or "{}")
    if wrong := [verdict for verdict in verdicts if verdict["kind"] != transport.upper()]:
        raise BenchError(
            f"transport of {name}",
            f"{wrong[0]['kind']} on {len(wrong)} of {len(verdicts)} ranks: {wrong[0]['reason']}",
            f"{transport.upper()} on every rank, or its times are not {NAMES[transport]}'s",
            wrong[0]["remedy"],
        )
    if ended.get("jobStatus") != "SUCCEEDED" or result.get("status") != "succeeded":
        said = result.get("error") or ended.get("message") or ended.get("reason") or "no word of why"
        states = f"{ended.get('jobDeploymentStatus')}, {ended.get('jobStatus', 'never submitted')}"
        raise BenchError(f"RayJob {name}", f"{states}: {said}", "SUCCEEDED", f"see {folder.uri} and the Ray head's log")
    if len(verdicts) != result["world_size"]:
        raise BenchError(
            f"verdicts in {folder.uri}/{TRANSPORT}",
            len(verdicts),
            f"one for each of the {result['world_size']} ranks, or the transport of some is not known",
            "run it again; when it stays so, the deployed job is of another version than this program",
        )
    out = result["transport"]["bytes"]
    return Run(
        transport=transport,
        name=name,
        uri=folder.uri,
        ranks=len(verdicts),
        step_seconds=result["step_seconds"]["median"],
        step_seconds_p95=result["step_seconds"]["p95"],
        tokens_per_second=result["tokens_per_second"],
        measured_bytes=out.get("measured_bytes_per_step"),
        predicted_bytes=out.get("predicted_bytes_per_step"),
        why=out.get("why"),
    )


def _read(folder: RunFolder, name: str) -> str | None:
    try:
        return folder.read(name)
    except OSError as error:
        raise BenchError(
            f"{folder.uri}/{name}",
            f"cannot be read: {error}",
            "AWS credentials that may read the results bucket",
            "set them, such as by AWS_PROFILE",
        ) from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the jobs, and prints the table or JSON; progress goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m bench.transport", description="EFA against TCP, as RayJobs")
    parser.add_argument("--steps", type=int, default=60, help="optimizer steps of each run (default: 60)")
    parser.add_argument("--rounds", type=int, default=2, help="runs over each transport (default: 2)")
    parser.add_argument("--job", help="the RayJob to take after (default: the newest)")
    parser.add_argument("--namespace", default="ray-train", help="where it is (default: ray-train)")
    parser.add_argument("--kubectl", default="kubectl", help="the kubectl to use (default: the one in PATH)")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    options = parser.parse_args(arguments)
    for name, least in (("steps", LEAST_STEPS), ("rounds", 1)):
        value = getattr(options, name)
        if value < least:
            parser.error(f"--{name} = {value}\n    expected: {least} or more\n    to do:    leave it out")
    told = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    try:
        with interruptible():
            cluster = Cluster(options.kubectl, options.namespace, told.print)
            runs = compare(cluster, options.job, options.steps, options.rounds, told.print)
    except BenchError as error:
        sys.exit(f"\n{error}\n")
    except Interrupted as error:
        sys.exit(error.exit_code)
    if options.json:
        print(json.dumps(as_json(runs), indent=2))
        return
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(render(runs, f"{options.steps} steps a run"))
    for line in (*dict.fromkeys(f"A figure is missing: {run.why}" for run in runs if run.why), SHOWS, SHOWS_NOT):
        console.print(line)
    console.print("The results of the runs stay where they are:", *(run.uri for run in runs), sep="\n")


if __name__ == "__main__":
    main()
