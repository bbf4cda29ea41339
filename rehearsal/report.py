"""What the user sees at the end."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from rehearsal.phases import Phase, timeline
from rehearsal.plot import bars
from rehearsal.results import Results
from rehearsal.submission import Change

# Whatever is rehearsed.
_NEVER_SHOWN = {
    "IAM": "no role, policy or pod identity is evaluated",
    "EFA and NCCL": "processes talk over gloo on the loopback interface",
    "hosts": "all processes share 127.0.0.1, and Ray Train counts one node: the mesh is told each pod's size",
    "GPUs": "a CPU slot stands for each; CUDA, bfloat16 and GPU memory are not touched",
    "the real model": "a stand-in or yours; nothing is read from the hub or written to S3",
}
NOT_SHOWN_BY_THE_JOB = _NEVER_SHOWN | {
    "quotas and capacity": "no vCPU quota, no capacity reservation, no placement group",
    "real scheduling": "no Kubernetes: requests, taints, node selectors and priorities place nothing here",
    "the charts and the operator": "KubeRay and the device plugins do not run; their objects are read here instead",
    "the deploy": "CloudFormation creates nothing",
}
NOT_SHOWN_BY_THE_DEPLOY = _NEVER_SHOWN | {
    "AWS itself": "moto and what this project adds to it answer; they refuse what we know that AWS refuses",
    "capacity": "every zone has room and the quotas are 1,000 vCPUs, unless a test says otherwise",
    "real nodes": "pods are placed by requests, selectors, taints and priorities, and no container runs in them",
    "KubeRay's own operator": "a stand-in follows its rules; the training runs beside the cluster, not in its pods",
    "time": "an EKS control plane takes ten minutes, a GPU node three, the image five",
}
LOSS_ROWS = 8
TIMELINE_WIDTH = 40


def show_changes(console: Console, changes: list[Change]) -> None:
    """Show what differs from the RayJob, and why."""
    table = Table(title="The RayJob as it is, but for", title_justify="left")
    for heading in ("", "RayJob", "here", "why"):
        table.add_column(heading, overflow="fold")
    for change in changes:
        table.add_row(change.what, "-" if change.was is None else change.was, change.now or "(none)", change.why)
    console.print(table)


def show_results(
    console: Console, facts: dict[str, str], results: Results, phases: list[Phase], not_shown: dict[str, str]
) -> None:
    """Show the run: facts, loss, seconds, and what none of it proves."""
    console.rule("Rehearsal")
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        grid.add_row(f"[bold]{name}[/bold]", value)
    console.print(grid)

    loss = Table(title="Loss", title_justify="left")
    for heading in ("step", "loss", "tokens/s"):
        loss.add_column(heading, justify="right")
    for row in loss_rows(len(results.metrics)):
        at = results.metrics[row]
        loss.add_row(str(at["step"]), f"{at['loss']:.4f}", f"{at.get('tokens_per_second') or 0:,.0f}")
    console.print(loss)
    for line in bars(results.losses):
        console.print(line, markup=False, highlight=False)

    seconds = Table(title="Seconds", title_justify="left")
    seconds.add_column("phase", overflow="fold")
    seconds.add_column("seconds", justify="right", min_width=7)
    seconds.add_column("", min_width=TIMELINE_WIDTH)
    for phase, bar in zip(phases, timeline(phases, TIMELINE_WIDTH), strict=True):
        seconds.add_row(phase.name, f"{phase.seconds:.1f}", bar)
    for name, value in results.result.get("seconds", {}).items():
        seconds.add_row(f"  in the job: {name}", f"{value:.1f}", "")
    console.print(seconds)

    console.print("[bold]What this does not show[/bold]")
    for name, why in not_shown.items():
        console.print(f"  - {name}: {why}", highlight=False)


def transport_line(transport: Mapping[str, Any]) -> str:
    """Say in one line what result.json says of rank 0's transport: what carried the bytes, and how many in a step."""
    sent = transport["bytes"]
    needed, measured = sent.get("predicted_bytes_per_step"), sent.get("measured_bytes_per_step")
    parts = [f"{transport['verdict']} proven"]
    if needed is not None:
        parts.append(f"a step needs {needed / 1e6:,.1f} MB to leave each pod")
    if measured is not None:
        parts.append(f"{measured / 1e6:,.1f} MB did")
    return "; ".join(parts + ([f"not measured: {sent['why']}"] if "why" in sent else []))


def loss_rows(steps: int) -> list[int]:
    """Return the indices of at most LOSS_ROWS steps, evenly spread, with the first and the last."""
    count = min(LOSS_ROWS, steps)
    return sorted({round(i * (steps - 1) / max(count - 1, 1)) for i in range(count)})
