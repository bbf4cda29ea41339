"""What an environment's training run takes by the arithmetic of training/plan.py, and the sharding it would choose."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from eks_ray_train.costs import hourly, known_total
from eks_ray_train.instance_types import InstanceType
from eks_ray_train.trained_model import MODELS, layout, reduce_width, trained_model
from environments.settings import Settings
from training.errors import InputError
from training.plan import MIB, SECONDS_PER_HOUR, Assumptions, Batch, Cluster, Gpu, Plan, Recipe, choose, plan

# The most that nccl-tests was seen to send from a node whose EFA cannot reach the GPUs' memory, a g6e with four
# interfaces (aws-ofi-nccl#547): it copies through host memory. Bytes per second.
MOST_THROUGH_HOST = 3e9


@dataclass(frozen=True)
class NotKnown:
    """Why there is no plan of the training, as a sentence."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """All of ``training.steps``. Dollars are None where a price is not known."""

    hours: float
    gpu_nodes_usd: float | None
    usd: float | None
    usd_per_million_tokens: float | None


@dataclass(frozen=True, kw_only=True)
class TrainingOutlook:
    """The plan of the settings as they are, and the one to choose for the same batch: None where no sharding fits."""

    settings: Settings
    cluster: Cluster
    batch: Batch
    assume: Assumptions
    now: Plan
    chosen: Plan | None

    @property
    def tokens_per_step(self) -> int:
        """Of all GPUs together."""
        return self.batch.tokens * self.batch.micro_batches * self.cluster.world_size

    @property
    def changes(self) -> list[str]:
        """What makes the settings the chosen ones, as lines of the environment's file; none where nothing differs."""
        if self.chosen is None:
            return []
        was, is_now = (_fields(each.recipe) for each in (self.now, self.chosen))
        return [f"{name} = {json.dumps(value)}" for name, value in is_now.items() if value != was[name]]

    def run(self, of: Plan) -> Run:
        """Hours of stepping, and dollars of GPU nodes and of all that is billed by the hour meanwhile."""
        hours = self.settings.training.steps * of.step_seconds / SECONDS_PER_HOUR
        parts = hourly(self.settings)
        gpu = next(part for part in parts if part.name == self.settings.gpu_nodes.instance_type)
        if gpu.total is None:
            return Run(hours=hours, gpu_nodes_usd=None, usd=None, usd_per_million_tokens=None)
        return Run(
            hours=hours,
            gpu_nodes_usd=hours * gpu.total,
            usd=hours * known_total(parts)[0],
            usd_per_million_tokens=of.usd_per_million_tokens,
        )

    @property
    def last_step_before_deadline(self) -> int:
        """The step with which ``training.deadline_hours`` are over, if there are so many."""
        return int(self.settings.training.deadline_hours * SECONDS_PER_HOUR / self.now.step_seconds)


def training_outlook(settings: Settings) -> TrainingOutlook | NotKnown:
    """Plan the training of an environment, without a download."""
    model, training, nodes = trained_model(settings), settings.training, settings.gpu_nodes
    kind = nodes.instance
    gpu, network = kind.gpu, network_rate(kind)
    if model is None:
        return NotKnown(
            f"the shape of {training.model} is not known here without a download; known are {', '.join(MODELS)}"
        )
    if gpu is None or gpu.bf16_flops is None:
        return NotKnown(f"no source was read for the bfloat16 peak of {kind.name}'s GPUs")
    if network is None:
        return NotKnown(f"the network bandwidth of {kind.name} is not in the instance table")
    cluster = Cluster(
        gpu=Gpu(name=gpu.name, memory=gpu.memory_mib * MIB, peak=gpu.bf16_flops),
        nodes=nodes.count,
        gpus_per_node=kind.gpus,
        network=network,
        usd_per_hour=known_total(hourly(settings))[0],
    )
    batch = Batch(
        sequence_length=training.sequence_length,
        micro_batch=training.micro_batch,
        micro_batches=training.accumulation,
    )
    recipe = Recipe(
        layout=layout(settings),
        reshard=training.reshard_after_forward,
        checkpointing=training.activation_checkpointing,
        reduce_width=reduce_width(settings),
    )
    try:
        chosen = choose(model, cluster, batch, reduce_width=recipe.reduce_width)
    except InputError:
        chosen = None
    return TrainingOutlook(
        settings=settings,
        cluster=cluster,
        batch=batch,
        assume=Assumptions(),
        now=plan(model, cluster, batch, recipe),
        chosen=chosen,
    )


def network_rate(kind: InstanceType) -> float | None:
    """Bytes per second out of each node that are counted on; None where the instance table does not know."""
    if kind.network_gbps is None:
        return None
    line = kind.network_gbps * 1e9 / 8
    return line if kind.gpudirect_rdma else min(line, MOST_THROUGH_HOST)


def _fields(recipe: Recipe) -> Mapping[str, object]:
    return {
        "sharding": recipe.layout,
        "activation_checkpointing": recipe.checkpointing,
        "reshard_after_forward": recipe.reshard,
    }
