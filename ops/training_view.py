"""The training's plan as text: one table, the settings beside the sharding to choose, and what it rests on."""

import math
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from ops.training_outlook import MOST_THROUGH_HOST, NotKnown, TrainingOutlook
from training.plan import MIB, Plan

Row = tuple[str, Callable[[Plan], str]]


def show_training(console: Console, found: TrainingOutlook | NotKnown) -> None:
    """Print the plan, or why there is none."""
    console.print("\n[bold]The training[/bold], by arithmetic")
    if isinstance(found, NotKnown):
        console.print(f"Not planned: {found.reason}.", highlight=False)
        return
    for line in (*_fit(found), _setting(found)):
        console.print(line, highlight=False)
    console.print(_table(found))
    for line in (*_course(found), *_choice(found), *_assumptions(found)):
        console.print(line, highlight=False)


def _fit(found: TrainingOutlook) -> Iterator[str]:
    if not found.now.fits:
        counted = found.cluster.gpu.memory * found.assume.usable
        yield (
            f"[bold]The settings do not fit[/bold]: a GPU holds {_mib(found.now.memory.peak)} MiB at the peak, and "
            f"{_mib(counted)} of its {_mib(found.cluster.gpu.memory)} are counted on."
        )
    if found.chosen is None:
        yield (
            "No sharding fits this batch: lower training.micro_batch or training.sequence_length, or take larger GPUs."
        )


def _setting(found: TrainingOutlook) -> str:
    batch, cluster = found.batch, found.cluster
    return (
        f"{found.settings.training.model} on {cluster.nodes} x {cluster.gpus_per_node} {cluster.gpu.name}, "
        f"{found.now.recipe.layout}; a step is {found.tokens_per_step:,} tokens: on each GPU {batch.micro_batches} x "
        f"{batch.micro_batch} sequences of {batch.sequence_length:,}."
    )


def _table(found: TrainingOutlook) -> Table:
    plans = [found.now, *([found.chosen] if found.chosen and found.changes else [])]
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for heading, _ in zip(("as set", "to choose"), plans, strict=False):
        table.add_column(heading, justify="right")
    for title, rows in _sections(found):
        table.add_row(f"[bold]{title}[/bold]")
        for label, value in rows:
            table.add_row(f"  {label}", *(value(each) for each in plans))
    return table


def _sections(found: TrainingOutlook) -> Iterator[tuple[str, list[Row]]]:
    gpu = found.cluster.gpu
    yield (
        "MiB on each GPU, each part at its largest",
        [
            (
                "weights, gradients and AdamW's moments, float32",
                lambda plan: _mib(plan.memory.parameters + plan.memory.gradients + plan.memory.optimizer),
            ),
            ("gathered weights", lambda plan: _mib(plan.memory.gathered)),
            ("gradients on their way", lambda plan: _mib(plan.memory.reduction)),
            ("activations kept", lambda plan: _mib(plan.memory.activations)),
            ("activations computed again", lambda plan: _mib(plan.memory.recompute)),
            ("logits and the head's gradient", lambda plan: _mib(plan.memory.logits + plan.memory.head_gradient)),
            (f"together at the peak, of {_mib(gpu.memory)}", lambda plan: _mib(plan.memory.peak)),
        ],
    )
    yield (
        "seconds of one step",
        [
            ("computing", lambda plan: f"{plan.compute_seconds:.2f}"),
            ("between nodes", lambda plan: f"{plan.network_seconds:.2f}"),
            ("  GB out of each node", lambda plan: f"{plan.bytes_per_node / 1e9:.2f}"),
            ("  of which nothing hides", lambda plan: f"{plan.exposed_seconds:.2f}"),
            ("inside a node", lambda plan: f"{plan.in_node_seconds:.2f}"),
            ("the step", lambda plan: f"{plan.step_seconds:.2f}"),
        ],
    )
    yield (
        f"the run of {found.settings.training.steps:,} steps",
        [
            ("tokens per second", lambda plan: f"{plan.tokens_per_second:,.0f}"),
            ("hours", lambda plan: f"{found.run(plan).hours:.2f}"),
            ("dollars, GPU nodes", lambda plan: _usd(found.run(plan).gpu_nodes_usd)),
            ("dollars, all that bills by the hour", lambda plan: _usd(found.run(plan).usd)),
            ("dollars per million tokens", lambda plan: _usd(found.run(plan).usd_per_million_tokens, digits=3)),
        ],
    )


def _course(found: TrainingOutlook) -> Iterator[str]:
    now, training = found.now, found.settings.training
    if found.run(now).usd is None:
        yield f"No On-Demand price is known of {found.settings.gpu_nodes.instance_type}."
    if not now.fits:
        return
    yield " ".join(_hiding(now))
    hours, deadline = found.run(now).hours, training.deadline_hours
    if hours > deadline:
        yield (
            f"[bold]The run takes more than training.deadline_hours = {deadline}[/bold]: it would stop itself after "
            f"step {found.last_step_before_deadline:,} of {training.steps:,}."
        )
    else:
        yield (
            f"That leaves {deadline - hours:.1f} h of training.deadline_hours = {deadline} for the start, checkpoints "
            "and evaluations."
        )


def _hiding(now: Plan) -> Iterator[str]:
    if now.in_node_seconds >= now.compute_seconds + now.exposed_seconds:
        yield "The traffic inside a node is the longest: all else hides behind it."
        return
    window = "computing" if now.recipe.layout == "full" else "the last micro-batch's backward"
    if now.network_seconds:
        hidden = now.network_seconds - now.exposed_seconds
        yield f"Of the {now.network_seconds:.2f} s between nodes, {hidden:.2f} hide behind {window}."
    if now.in_node_seconds:
        yield "The traffic inside a node hides behind all else."


def _choice(found: TrainingOutlook) -> Iterator[str]:
    now, chosen = found.now, found.chosen
    if chosen is None:
        return
    if not found.changes:
        yield "The sharding is the one to choose for this batch."
        return
    if not now.fits:
        yield "The sharding to choose for this batch, which fits:"
    elif math.isclose(now.step_seconds, chosen.step_seconds, rel_tol=0.005):
        less = now.serial_seconds - chosen.serial_seconds
        yield f"The sharding to choose for this batch is as fast, and has {less:.2f} s of each step less to hide:"
    else:
        was, then = found.run(now), found.run(chosen)
        dollars = "" if was.usd is None or then.usd is None else f" and ${was.usd - then.usd:.2f}"
        yield (
            f"The sharding to choose for this batch saves {now.step_seconds - chosen.step_seconds:.2f} s of each "
            f"step, {was.hours - then.hours:.2f} h{dollars} of the run:"
        )
    yield from (f"  {line}" for line in found.changes)


def _assumptions(found: TrainingOutlook) -> Iterator[str]:
    assume, cluster, kind = found.assume, found.cluster, found.settings.gpu_nodes.instance
    yield (
        f"Assumed: {assume.utilisation:.0%} of each GPU's {cluster.gpu.peak / 1e12:,.0f} TFLOP/s while it computes (a "
        "share chosen for an L4), "
        f"{assume.backward:.0%} of that in backward; {assume.usable:.0%} of its memory for tensors."
    )
    if cluster.nodes > 1:
        basis = f"the {kind.network_gbps:,} Gb/s that EC2 states, of which less will arrive"
        if cluster.network == MOST_THROUGH_HOST:
            basis = f"of EC2's {kind.network_gbps:,} Gb/s: the most seen without GPUDirect RDMA (aws-ofi-nccl#547)"
        yield f"Assumed: {cluster.network / 1e9:,.1f} GB/s out of each node, {basis}."
    if cluster.gpus_per_node > 1:
        yield f"Assumed: {assume.in_node / 1e9:,.1f} GB/s between two GPUs of a node, through host memory."
    if kind.nvlink:
        free = found.now.compute_seconds + found.now.exposed_seconds
        yield (
            "That is pessimistic here, for these GPUs have NVLink: were the traffic inside a node free, a step would "
            f"take {free:.2f} s."
        )
    yield "None of it was measured on these GPUs."


def _mib(size: float) -> str:
    return f"{size / MIB:,.0f}"


def _usd(amount: float | None, digits: int = 2) -> str:
    return "unknown" if amount is None else f"{amount:,.{digits}f}"
