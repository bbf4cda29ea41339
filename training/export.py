"""The trained model as a folder that transformers loads."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from pyarrow import fs
from safetensors.torch import save_file
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from transformers import AutoTokenizer, GenerationConfig, PretrainedConfig, PreTrainedModel

from training.arguments import Arguments
from training.model import is_config_file
from training.results import RunFolder
from training.sharding import is_tied

FOLDER = "model"


def export(args: Arguments, model: PreTrainedModel, config: PretrainedConfig, folder: RunFolder) -> None:
    """Gather the sharded weights on rank 0 and write <run>/model/: all ranks take part. Raises OSError.

    The weights have the dtype of the model that training began with, which a config file may leave open: then float32.
    """
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights: dict[str, Any] = get_model_state_dict(model, options=options)
    if not weights:
        return  # another rank than 0
    dtype = config.dtype if isinstance(config.dtype, torch.dtype) else torch.float32
    if is_tied(model):
        # One matrix: written once, and from_pretrained ties it again.
        head = model.get_output_embeddings()
        weights.pop(next(name for name, module in model.named_modules() if module is head) + ".weight")
    with tempfile.TemporaryDirectory() as temporary:
        local = Path(temporary)
        saved = {name: _converted(weight, dtype) for name, weight in weights.items()}
        save_file(saved, local / "model.safetensors", metadata={"format": "pt"})
        config.dtype = dtype
        config.architectures = [type(model).__name__]
        config.save_pretrained(local)
        if model.generation_config is not None:
            _save_generation_config(args, config, local)
        _save_tokenizer(args, local)
        target = f"{folder.path}/{FOLDER}"
        if folder.local is not None:
            folder.filesystem.create_dir(target, recursive=True)
        fs.copy_files(str(local), target, fs.LocalFileSystem(), folder.filesystem, use_threads=folder.local is not None)


def _converted(weight: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return (weight.to(dtype) if weight.is_floating_point() else weight).contiguous()


def _save_generation_config(args: Arguments, config: PretrainedConfig, folder: Path) -> None:
    """Put the model's own beside it, with its end-of-text tokens; one that has none gets what follows from `config`."""
    try:
        own = GenerationConfig.from_pretrained(args.model, revision=args.revision or "main")
        own.save_pretrained(folder)
    except (OSError, ValueError):
        GenerationConfig.from_model_config(config).save_pretrained(folder)


def _save_tokenizer(args: Arguments, folder: Path) -> None:
    """Put the model's tokenizer beside it; synthetic data may do without one."""
    source = str(Path(args.model).parent) if is_config_file(args.model) else args.model
    try:
        AutoTokenizer.from_pretrained(source, revision=args.revision).save_pretrained(folder)
    except (OSError, ValueError):
        return
