"""Which workers hold a copy of the model together, and which hold the same part of it."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

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


def build_mesh(args: Arguments, device: torch.device) -> DeviceMesh:
    """Return a mesh over all ranks: (shard) when one copy spans them all, else (replicate, shard). Raises InputError.

    Ranks are numbered node by node, so the inner dimension stays inside a node.
    """
    world_size = dist.get_world_size()
    size = shard_size(args, world_size, int(os.environ.get("LOCAL_WORLD_SIZE", world_size)))
    if size == world_size:
        return init_device_mesh(device.type, (world_size,), mesh_dim_names=("shard",))
    return init_device_mesh(device.type, (world_size // size, size), mesh_dim_names=("replicate", "shard"))


def describe(mesh: DeviceMesh) -> str:
    """Name a mesh as results do: full over 8, or hsdp 2 x 4."""
    return f"full over {mesh.size()}" if mesh.ndim == 1 else f"hsdp {mesh.size(0)} x {mesh.size(1)}"
