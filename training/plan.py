"""What a run will take, by arithmetic alone: memory, bytes, seconds, hours, dollars, and the sharding to choose.

What arithmetic cannot know is a field of `Assumptions`, or given: the GPUs' peak, the network's rate, the price. No
torch here: the checks at synth import this.
"""

import itertools
from dataclasses import dataclass

from training.errors import InputError
from training.plan_bytes import Layout, Traffic, bytes_per_link_in_node, bytes_per_node
from training.plan_memory import Checkpointing, Memory, memory
from training.plan_model import Model

SECONDS_PER_HOUR = 3600
MIB = 1024**2


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU: what the driver reports as memory, in bytes, and its dense bfloat16 peak in operations per second."""

    name: str
    memory: int
    peak: float


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The nodes that train. `network`: bytes per second out of each node. `usd_per_hour`: the whole cluster's price."""

    gpu: Gpu
    nodes: int
    gpus_per_node: int
    network: float
    usd_per_hour: float

    @property
    def world_size(self) -> int:
        """One rank per GPU."""
        return self.nodes * self.gpus_per_node


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What arithmetic cannot know: estimates, none of them measured on the GPUs that are planned for."""

    # Share of the peak reached while computing, recomputed operations included. Chosen for an L4: between the 0.54 of
    # PyTorch with this model on a card without a power cap and what a 72 W card is likely to sustain.
    utilisation: float = 0.45
    # Share of the compute time that is backward, behind which gradients can be reduced.
    backward: float = 2 / 3
    # NCCL through host memory, between two GPUs of a node without NVLink; bytes per second.
    in_node: float = 8e9
    # Left of the GPU's memory for tensors: the CUDA context, NCCL's buffers and the allocator's waste take the rest.
    usable: float = 0.9


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One optimizer step: sequences per GPU and micro-batch, and micro-batches."""

    sequence_length: int
    micro_batch: int
    micro_batches: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no batch."""
        for name in ("sequence_length", "micro_batch", "micro_batches"):
            if (value := getattr(self, name)) < 1:
                raise InputError(name.replace("_", "-"), value, "a whole number of at least 1", "Raise it.")

    @property
    def tokens(self) -> int:
        """Tokens per GPU and micro-batch."""
        return self.sequence_length * self.micro_batch


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the model is spread and what is recomputed."""

    layout: Layout
    reshard: bool = True
    checkpointing: Checkpointing = "full"
    loss_chunk: int = 1024
    reduce_width: int = 4


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The outcome. `step_seconds` hides communication behind computing where it can; `serial_seconds` nowhere.

    `exposed_seconds`: of `network_seconds`, those that nothing hides.
    """

    recipe: Recipe
    memory: Memory
    fits: bool
    bytes_per_node: float
    compute_seconds: float
    network_seconds: float
    exposed_seconds: float
    in_node_seconds: float
    step_seconds: float
    serial_seconds: float
    tokens_per_second: float
    usd_per_hour: float

    @property
    def usd_per_million_tokens(self) -> float:
        """Dollars per million tokens, while the job computes."""
        return self.usd(1_000_000)

    def hours(self, tokens: float) -> float:
        """Hours of stepping for `tokens` tokens; start and checkpoints come on top."""
        return tokens / self.tokens_per_second / SECONDS_PER_HOUR

    def usd(self, tokens: float) -> float:
        """Dollars for as many tokens."""
        return self.hours(tokens) * self.usd_per_hour


def plan(model: Model, cluster: Cluster, batch: Batch, recipe: Recipe, assume: Assumptions | None = None) -> Plan:
    """Work out one recipe."""
    assume = assume or Assumptions()
    shape = (cluster.nodes, cluster.gpus_per_node)
    traffic = Traffic(
        layout=recipe.layout,
        reduce_width=recipe.reduce_width,
        reshard=recipe.reshard,
        micro_batches=batch.micro_batches,
    )
    parts = memory(
        model,
        layout=recipe.layout,
        nodes=cluster.nodes,
        per_node=cluster.gpus_per_node,
        tokens=batch.tokens,
        checkpointing=recipe.checkpointing,
        reshard=recipe.reshard,
        accumulated=batch.micro_batches > 1,
        loss_chunk=recipe.loss_chunk,
        reduce_width=recipe.reduce_width,
    )
    leaving = bytes_per_node(model, traffic, *shape)
    operations = model.flops_per_token(batch.sequence_length, recompute=recipe.checkpointing == "full")
    compute = batch.tokens * batch.micro_batches * operations / (cluster.gpu.peak * assume.utilisation)
    network = leaving / cluster.network
    # A node's only GPU has no neighbour inside.
    in_node = bytes_per_link_in_node(model, traffic, *shape) / assume.in_node if cluster.gpus_per_node > 1 else 0.0
    # Full shards travel all through a step. HSDP's reduction across nodes has the last micro-batch's backward.
    window = compute if recipe.layout == "full" else compute / batch.micro_batches * assume.backward
    exposed = max(0.0, network - window)
    step = max(compute + exposed, in_node)
    return Plan(
        recipe=recipe,
        memory=parts,
        fits=parts.peak <= cluster.gpu.memory * assume.usable,
        bytes_per_node=leaving,
        compute_seconds=compute,
        network_seconds=network,
        exposed_seconds=exposed,
        in_node_seconds=in_node,
        step_seconds=step,
        serial_seconds=compute + network + in_node,
        tokens_per_second=batch.tokens * batch.micro_batches * cluster.world_size / step,
        usd_per_hour=cluster.usd_per_hour,
    )


def choose(
    model: Model, cluster: Cluster, batch: Batch, assume: Assumptions | None = None, *, reduce_width: int = 4
) -> Plan:
    """The fastest recipe that fits, with gradients summed in `reduce_width` bytes; of equally fast ones that which has
    the least to hide.

    Raises InputError when none fits.
    """
    layouts: tuple[Layout, ...] = ("full", "hsdp") if cluster.nodes > 1 else ("full",)
    kinds: tuple[Checkpointing, ...] = ("off", "selective", "full")
    plans = [
        plan(
            model,
            cluster,
            batch,
            Recipe(layout=layout, reshard=reshard, checkpointing=kind, reduce_width=reduce_width),
            assume,
        )
        for layout, reshard, kind in itertools.product(layouts, (True, False), kinds)
    ]
    fitting = [candidate for candidate in plans if candidate.fits]
    if not fitting:
        least = min(candidate.memory.peak for candidate in plans)
        raise InputError(
            "micro-batch",
            batch.micro_batch,
            f"a batch that fits {cluster.gpu.memory / MIB:,.0f} MiB of a {cluster.gpu.name}: the least for this one is "
            f"{least / MIB:,.0f} MiB, without CUDA's own",
            "Lower the micro-batch or the sequence length, take a smaller model, or more GPUs.",
        )
    return min(fitting, key=lambda candidate: (candidate.step_seconds, candidate.serial_seconds))
