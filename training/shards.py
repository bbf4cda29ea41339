"""How many workers hold one copy of the model: plain arithmetic, known before a worker starts where the nodes are."""

from training.arguments import Arguments
from training.errors import InputError


def shard_size(args: Arguments, world_size: int, local_world_size: int) -> int:
    """Return how many of `world_size` workers hold one copy of the model. Raises InputError.

    `local_world_size` is the number of workers on each node: its links are faster than those between nodes, so the
    gathers of every layer stay inside, and only the gradients cross. With one worker per node that would shard nothing:
    `auto` then shards over all.
    """
    size = args.shard_size or local_world_size
    if args.mesh == "full" or (args.mesh == "auto" and args.shard_size is None and local_world_size == 1):
        return world_size
    if world_size % size:
        raise InputError(
            "shard-size",
            size,
            f"a number that divides the {world_size} workers",
            "Choose one, usually the number of workers of one node.",
        )
    if args.mesh == "hsdp" and size == world_size:
        raise InputError(
            "mesh",
            "hsdp",
            f"more than one group of {size} workers, and there are {world_size} workers",
            "Use --mesh full, or a smaller --shard-size.",
        )
    return size


def check_shards(args: Arguments, workers: int, nodes: int) -> None:
    """Raise InputError when `workers` on `nodes` cannot be divided as told.

    Without --shard-size it follows from where Ray places the workers: known here only when that is on one node.
    """
    if args.shard_size is not None or min(workers, nodes) == 1:
        shard_size(args, workers, workers)
