"""Which collectives one optimizer step makes, and how many bytes of them leave a node. Exact arithmetic, no torch."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from training.plan_model import Model

Operation = Literal["all_gather", "reduce_scatter", "all_reduce", "broadcast"]
Layout = Literal["full", "hsdp"]


@dataclass(frozen=True)
class Collective:
    """One collective of the group `ranks`, in its order. `payload`: bytes of the whole tensor, all shards together."""

    operation: Operation
    payload: int
    ranks: tuple[int, ...]

    @property
    def sent(self) -> float:
        """Bytes that each rank of a ring sends to the next one, in all."""
        others = (len(self.ranks) - 1) / len(self.ranks)
        return self.payload * {"all_reduce": 2 * others, "broadcast": 1.0}.get(self.operation, others)


def sent_out(collective: Collective, rank: int, node_of: Sequence[Hashable]) -> float:
    """Bytes that `rank`, one of the collective's, sends to another node (`node_of[rank]`).

    Rings in the order of the ranks, as gloo and (node by node) NCCL build them. With NCCL's trees an all-reduce of more
    than two ranks sends the payload once, not 2(N-1)/N times.
    """
    ranks = collective.ranks
    following = ranks[(ranks.index(rank) + 1) % len(ranks)]
    if node_of[rank] == node_of[following]:
        return 0.0
    # A broadcast is a chain from its first rank: nothing goes back to it.
    return 0.0 if collective.operation == "broadcast" and following == ranks[0] else collective.sent


def bytes_leaving(collectives: Iterable[Collective], node_of: Sequence[Hashable]) -> dict[Hashable, float]:
    """Bytes that leave each node for another, given the collectives of all ranks, each once."""
    leaving: dict[Hashable, float] = dict.fromkeys(node_of, 0.0)
    for collective, count in Counter(collectives).items():
        for rank in collective.ranks:
            leaving[node_of[rank]] += sent_out(collective, rank, node_of) * count
    return leaving


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """How parameters are gathered and gradients reduced.

    `layout`: full shards over all ranks; hsdp shards inside each node and replicates across them, and reduces across
    nodes on the last micro-batch only. `reshard`: the blocks are freed after forward and gathered again for backward.
    Widths in bytes. `reduce_scatter_as_all_reduce`: gloo does that.
    """

    layout: Layout
    gather_width: int = 2
    reduce_width: int = 4
    reshard: bool = True
    micro_batches: int = 1
    reduce_scatter_as_all_reduce: bool = False


def step_collectives(model: Model, traffic: Traffic, nodes: int, per_node: int) -> list[Collective]:
    """All collectives of one optimizer step over the model's parameters, of all ranks' groups.

    Not in it: the gradient norm and the loss, a few bytes each.
    """
    world = nodes * per_node
    if traffic.layout == "full":
        shard_groups, replicate_groups = [tuple(range(world))], []
    else:
        shard_groups = [tuple(range(node * per_node, (node + 1) * per_node)) for node in range(nodes)]
        replicate_groups = [tuple(range(local, world, per_node)) for local in range(per_node)] if nodes > 1 else []
    ways = len(shard_groups[0])
    reduce: Operation = "all_reduce" if traffic.reduce_scatter_as_all_reduce else "reduce_scatter"
    found: list[Collective] = []
    for group in model.groups:
        shard = group.shard(ways)
        gathers = traffic.micro_batches * (1 if group.kept or not traffic.reshard else 2)
        for ranks in shard_groups:
            found += [Collective("all_gather", shard * ways * traffic.gather_width, ranks)] * gathers
            found += [Collective(reduce, shard * ways * traffic.reduce_width, ranks)] * traffic.micro_batches
        found += [Collective("all_reduce", shard * traffic.reduce_width, ranks) for ranks in replicate_groups]
    return found


def bytes_per_node(model: Model, traffic: Traffic, nodes: int, per_node: int) -> float:
    """Bytes that leave each node in one optimizer step; every node sends the same."""
    node_of = [rank // per_node for rank in range(nodes * per_node)]
    leaving: Mapping[Hashable, float] = bytes_leaving(step_collectives(model, traffic, nodes, per_node), node_of)
    return max(leaving.values())


def bytes_per_link_in_node(model: Model, traffic: Traffic, nodes: int, per_node: int) -> float:
    """Bytes that a rank sends to its neighbour inside the node in one optimizer step."""
    inside = (c for c in step_collectives(model, traffic, nodes, per_node) if 0 in c.ranks and 1 in c.ranks)
    return sum(collective.sent for collective in inside)
