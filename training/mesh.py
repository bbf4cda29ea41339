"""Which workers hold a copy of the model together, and which hold the same part of it."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from training.arguments import Arguments
from training.shards import shard_size


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
