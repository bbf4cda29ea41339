"""The training loop. `train` needs a process group only; `train_func` is its thin layer for Ray Train.

`train_func` lives here and not in the driver: Ray sends it to the workers by name, and cannot pickle it from __main__.
"""

import json
import time
from collections.abc import Mapping
from typing import Any

import ray
import ray.train.torch
import torch
import torch.distributed as dist

from training.arguments import Arguments
from training.errors import InputError, TrainingError
from training.export import export
from training.figures import measured_flops, memory_peak, model_flops_per_token, reset_memory_peak, speed
from training.mesh import describe
from training.metrics import StepMetrics
from training.model import read_config
from training.optimisation import clip_gradients, learning_rate, seed_step, set_learning_rate
from training.profiling import profile
from training.ranks import FollowerError, Ranks
from training.results import TRANSPORT, RunFolder
from training.setup import Run, build_run, check_shared, prepare_data
from training.sharding import count_parameters, reduce_across_nodes, reshard
from training.transport_meter import BytesMeter
from training.transport_proof import prove
from training.versions import device_name, versions

# Of its 56 digits: enough to tell nodes apart, and short in a verdict.
NODE_ID_SHOWN = 8


def train_func(config: dict[str, Any]) -> dict[str, Any]:
    """Run `train` as a Ray Train worker. `config`: the fields of Arguments, and `timeline`, for `train`.

    Ray starts the workers again when one of them raises. What would end in the same way is returned instead, as
    {"failed": message}.
    """
    arguments = dict(config)
    timeline = arguments.pop("timeline")
    # Ray Train tells nodes apart by their address, which those of a rehearsal share.
    node = ray.get_runtime_context().get_node_id()[:NODE_ID_SHOWN]
    try:
        return train(Arguments(**arguments), ray.train.torch.get_device(), timeline, node)
    except (InputError, TrainingError, FollowerError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def train(
    args: Arguments, device: torch.device, timeline: Mapping[str, float], node: str | None = None
) -> dict[str, Any]:
    """Train in the default process group, one process per `device`, and return what result.json says of the run.

    `timeline` names moments before this one, each a time.time(). `node` is the node that this rank is on, by any name;
    without it, this host. Raises InputError (rank 0), TransportError or another RuntimeError.
    """
    if device.type == "cpu":
        torch.set_num_threads(1)  # each worker has one core; more threads only wait for each other
    moments = dict(timeline) | {"worker": time.time()}
    folder = RunFolder(args.results, args.run_name)
    # The first of all collectives, for NCCL gives up in whichever that is; it costs seconds, and data may cost hours.
    verdicts = prove(
        args.require_transport,
        device,
        node,
        record=lambda found: folder.write(TRANSPORT, json.dumps(found, indent=2) + "\n"),
    )
    moments["transport"] = time.time()
    ranks = Ranks()
    # Rank 0 alone reads what may come from the hub; the others get it from there.
    config = ranks.from_rank0(lambda: read_config(args))
    check_shared(folder, ranks)
    data = prepare_data(args, config, ranks)
    moments["data"] = time.time()
    reset_memory_peak(device)
    run = build_run(args, device, ranks, config, data)
    moments["model"] = time.time()
    before = before_first_step(run)
    verdict = verdicts[ranks.rank]["kind"]
    meter = BytesMeter(verdict, device, node)
    reset_memory_peak(device)

    with StepMetrics(args, device, run.folder, run.done) as metrics, profile(args, run.folder, ranks.rank) as profiler:
        for step in range(run.done + 1, args.steps + 1):
            train_step(run, step, metrics)
            meter.after_step()
            moments.setdefault("first step", time.time())
            profiler.step()
            if args.evaluate_every and step % args.evaluate_every == 0:
                metrics.read()
                metrics.add_evaluation(step, evaluate(run))
                metrics.resume_clock()
            if args.checkpoint_every and step % args.checkpoint_every == 0:
                metrics.read()
                save(run, step, metrics)
        transport = {"verdict": verdict, "bytes": meter.after_run()}
        run.checkpoints.wait()
    moments["last step"] = time.time()
    tokens = run.batch * args.sequence_length
    flops = model_flops_per_token(config, count_parameters(run.root), args.sequence_length)
    losses, step_seconds = ranks.from_rank0(lambda: (metrics.losses, metrics.step_seconds))
    figures = speed(
        step_seconds,
        tokens,
        ranks.world_size,
        flops,
        before["measured_flops"],
        args.peak_flops,
        args.usd_per_hour,
    )
    after = after_run(run, before)
    moments["end"] = time.time()
    return {
        "world_size": ranks.world_size,
        "backend": dist.get_backend(),
        "device": device_name(device),
        "mesh": describe(run.mesh),
        "parameters": count_parameters(run.root),
        "steps": args.steps,
        "resumed_from_step": run.done,
        "tokens_per_step": tokens,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        **figures,
        "transport": transport,
        **after,
        **_times(moments),
        "versions": versions(),
    }


def train_step(run: Run, step: int, metrics: StepMetrics) -> None:
    """Do optimizer step `step` (from 1)."""
    args, ranks, root = run.args, run.ranks, run.root
    seed_step(args.seed, step, ranks.rank)
    rate = learning_rate(args, step)
    set_learning_rate(run.optimizer, rate)
    first = (step - 1) * run.batch
    # Every rank has all tokens, so the count over the global batch costs no collective.
    targets_in_batch = run.samples.targets_between(first, first + run.batch)
    loss = torch.zeros((), device=run.device)
    for micro in range(args.accumulation):
        last = micro == args.accumulation - 1
        reduce_across_nodes(root, last)
        mine = first + (micro * ranks.world_size + ranks.rank) * args.micro_batch
        ids, targets = (to_device(part, run.device) for part in run.samples.batch(mine, args.micro_batch))
        total = root(ids, targets)
        # FSDP takes the mean of the ranks' gradients; the mean over the global batch's tokens is wanted.
        (total * (ranks.world_size / targets_in_batch)).backward()
        loss += total.detach()
    norm = clip_gradients(root)
    run.optimizer.step()
    run.optimizer.zero_grad()
    metrics.add(step, rate, loss / targets_in_batch, norm)


def evaluate(run: Run) -> float:
    """Return the mean loss of the held-out sequences, the same on every rank."""
    sums = torch.zeros(2, dtype=torch.float64)
    run.root.eval()
    with torch.no_grad():
        for ids, targets in run.samples.held_out(run.ranks.rank, run.ranks.world_size, run.args.micro_batch):
            sums[0] += float(run.root(to_device(ids, run.device), to_device(targets, run.device)))
            sums[1] += int((targets >= 0).sum())
    run.root.train()
    reshard(run.root)
    totals = torch.stack(run.ranks.gather(sums)).sum(0)
    return float(totals[0] / totals[1])


def save(run: Run, step: int, metrics: StepMetrics) -> None:
    """Begin a checkpoint of the state after `step`; it is whole when the metrics up to there are written too."""
    position = {"step": step, "samples": step * run.batch, "fingerprint": run.fingerprint}
    run.checkpoints.save(run.root, run.optimizer, position, metrics.flush)


def before_first_step(run: Run) -> dict[str, Any]:
    """Measure what the run is held against: on every rank, when all is loaded and nothing has been trained."""
    return {
        "measured_flops": measured_flops(run.device, getattr(torch, run.args.compute_dtype)),
        "memory_after_setup": memory_peak(run.device),
    }


def after_run(run: Run, before: Mapping[str, Any]) -> dict[str, Any]:
    """Write the model folder and return what all ranks have to say: on every rank, after the last step."""
    peaks = run.ranks.gather((before["memory_after_setup"], memory_peak(run.device)))
    if run.args.save_model:
        export(run.args, run.model, run.config, run.folder)
    run.checkpoints.close()
    return {"memory_bytes_by_rank": {"setup": [at for at, _ in peaks], "training": [at for _, at in peaks]}}


def to_device(batch: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy `batch` to `device`; from pinned memory, for any other copy to a GPU waits for the work queued on it."""
    return batch.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else batch


def _times(moments: Mapping[str, float]) -> dict[str, Any]:
    """Return the timeline in seconds from its first moment, and the seconds of each part."""
    begin = min(moments.values())
    return {
        "timeline": {name: round(at - begin, 3) for name, at in sorted(moments.items(), key=lambda item: item[1])},
        "seconds": {
            "start": moments["worker"] - begin,
            "transport": moments["transport"] - moments["worker"],
            "data": moments["data"] - moments["transport"],
            "model": moments["model"] - moments["data"],
            "training": moments["last step"] - moments["model"],
            "end": moments["end"] - moments["last step"],
        },
    }
