"""Fully sharded data parallelism (FSDP2), hybrid or full, for any causal language model of transformers."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from transformers import PreTrainedModel

from training.arguments import Arguments
from training.errors import InputError
from training.loss import CausalLMLoss
from training.recompute import checkpoint_activations


def decoder_layers(model: PreTrainedModel) -> nn.ModuleList:
    """Return the model's list of decoder layers: the one whose members transformers says must not be split.

    Raises InputError when there is no such list, or more than one.
    """
    unsplit = set(model._no_split_modules or ())
    found = [
        module
        for module in model.base_model.modules()
        if isinstance(module, nn.ModuleList) and len(module) and {type(m).__name__ for m in module} <= unsplit
    ]
    if len(found) != 1:
        raise InputError(
            "model",
            type(model).__name__,
            f"one list of decoder layers of {sorted(unsplit)} (its _no_split_modules), and it has {len(found)}",
            "Choose a decoder-only causal language model.",
        )
    return found[0]


def parallelise(model: PreTrainedModel, mesh: DeviceMesh, args: Arguments) -> CausalLMLoss:
    """Make a model that lies on the meta device ready for training over `mesh`, in the order that FSDP2 needs.

    Activation checkpointing, then compilation, then sharding: each wraps what is there.
    """
    parameters, tied = count_parameters(model), is_tied(model)
    root = CausalLMLoss(model, args.loss_chunk)
    checkpoint_activations(model, args.activation_checkpointing)
    if args.compile:
        for layer in decoder_layers(model):
            layer.compile()  # one graph, used by every layer
    policy = MixedPrecisionPolicy(
        param_dtype=getattr(torch, args.compute_dtype), reduce_dtype=getattr(torch, args.reduce_dtype)
    )
    shard(root, mesh, policy, reshard_after_forward=args.reshard_after_forward)
    check_unchanged(model, parameters, tied)
    return root


def shard(root: CausalLMLoss, mesh: DeviceMesh, policy: MixedPrecisionPolicy, *, reshard_after_forward: bool) -> None:
    """Shard over `mesh` (over its last dimension; replicate over the first of two): one group per decoder layer.

    Parameters and optimizer state stay float32: with bfloat16 masters an AdamW update at a fine-tuning rate is mostly
    rounded away.
    """
    model = root.model
    layers = decoder_layers(model)
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    options: dict[str, Any] = {"mesh": mesh, "mp_policy": policy}
    for layer in layers:
        fully_shard(layer, reshard_after_forward=reshard_after_forward, **options)
    body = next(module for module in model.modules() if layers in module.children())
    # What else stands beside the layers and has parameters: the final norm; in older models also learned positions.
    last = [m for m in body.children() if m not in (layers, embedding) and any(True for _ in m.parameters())]
    last.append(head)
    if is_tied(model):
        # One matrix used by two modules belongs to one group: torch 2.13 refuses it in two, FSDP1 silently untied it.
        last.insert(0, embedding)
    else:
        fully_shard(embedding, reshard_after_forward=reshard_after_forward, **options)
    # Backward begins with this group, so freeing it after forward would only gather it again at once.
    fully_shard(last, reshard_after_forward=False, **options)
    fully_shard(root, **options)


def load(model: PreTrainedModel, source: PreTrainedModel | None, device: torch.device) -> None:
    """Give the sharded `model` memory on `device` and the weights of rank 0's `source` (None on the other ranks)."""
    parameters, tied = count_parameters(model), is_tied(model)
    model.to_empty(device=device)
    set_model_state_dict(
        model,
        source.state_dict() if source is not None else {},
        options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
    )
    # Buffers outside the state dict (RoPE frequencies) hold whatever the memory held before: rank 0 has them right.
    saved = set(model.state_dict())
    sources = dict(source.named_buffers()) if source is not None else {}
    for name, buffer in model.named_buffers():
        if name not in saved:
            if source is not None:
                buffer.copy_(sources[name])
            dist.broadcast(buffer, src=0)
        assert not buffer.is_floating_point() or torch.isfinite(buffer).all(), f"buffer {name} is not finite"
    check_unchanged(model, parameters, tied)


def reduce_across_nodes(root: nn.Module, last: bool) -> None:
    """Before each backward: say whether it is the step's last. Gradients cross the nodes then only.

    Inside a node they are reduced each time: whole gradients, kept until the last, would not fit.
    """
    assert isinstance(root, FSDPModule)
    root.set_requires_all_reduce(last)
    root.set_is_last_backward(last)


def reshard(root: nn.Module) -> None:
    """Free what a forward without a backward has left gathered, before the weights change."""
    for module in root.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def count_parameters(model: nn.Module) -> int:
    """Return the number of parameters of the whole model, shared ones once, on any rank."""
    return sum(parameter.numel() for parameter in model.parameters())


def is_tied(model: PreTrainedModel) -> bool:
    """Whether the output head and the input embedding are one matrix."""
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


def check_unchanged(model: PreTrainedModel, parameters: int, tied: bool) -> None:
    """Raise RuntimeError when sharding or loading has untied the embedding or changed the parameter count."""
    now = (count_parameters(model), is_tied(model))
    if now != (parameters, tied):
        raise RuntimeError(f"(parameters, tied) were {(parameters, tied)} and are {now}: the model is no longer itself")
