"""The model that an environment trains and how it is spread, as training/plan.py takes them, without a download."""

from environments.settings import Settings
from training.plan_bytes import Layout
from training.plan_model import QWEN2_5_1_5B, Model, read_model

# Models whose shape is known here.
MODELS = {"Qwen/Qwen2.5-1.5B": QWEN2_5_1_5B, "Qwen/Qwen2.5-1.5B-Instruct": QWEN2_5_1_5B}


def trained_model(settings: Settings) -> Model | None:
    """The model's shape, or None where it would have to be downloaded."""
    config = MODELS.get(settings.training.model)
    return read_model(config) if config else None


def layout(settings: Settings) -> Layout:
    """What ``training.sharding`` comes to, as training/shards.py has it."""
    nodes = settings.gpu_nodes
    if settings.training.sharding == "auto":
        # Inside a node with one GPU there is nothing to shard over.
        return "hsdp" if nodes.count > 1 and nodes.instance.gpus > 1 else "full"
    return settings.training.sharding


def reduce_width(settings: Settings) -> int:
    """Bytes of each number in the sums of gradients."""
    return 2 if settings.training.reduce_dtype == "bfloat16" else 4
