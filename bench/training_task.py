"""What the benchmark of training does: its models, data and settings, the same for every process of it."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from training.arguments import Arguments
from training.data import Samples

OURS, OURS_FLOAT32 = "ours", "ours, float32"
RECIPE, RECIPE_FLOAT32, QUIET = "recipe", "recipe, float32", "recipe without report"
STEPS = 20
MICRO_BATCH = 2
SEQUENCE_LENGTH = 64
# The default of both, 2e-5, is for weights that are trained already; these start random.
LEARNING_RATE = 1e-3


@dataclasses.dataclass(frozen=True)
class Shape:
    """A Qwen2 model, and the parameters from which the recipe shards a module by itself.

    As the sample's 1e7 does in Qwen2.5-1.5B, it lies between a projection of the MLP and one of attention.
    """

    config: dict[str, Any]
    wrap_at: int


@dataclasses.dataclass(frozen=True)
class Task:
    """One run of the benchmark. `folder` holds the saved model, and takes what training writes."""

    folder: str
    wrap_at: int
    ranks: int
    rounds: int
    round_steps: int

    @property
    def model(self) -> Path:
        """Where the starting weights are, as a folder saved by transformers."""
        return Path(self.folder, "model")

    def arguments(self, name: str, compute_dtype: str) -> Arguments:
        """Our settings for the run `name`: those of the command line, but sharded over all ranks, as the recipe is."""
        return Arguments(
            run_name=name,
            model=str(self.model),
            data="synthetic",
            results=str(Path(self.folder, "results")),
            steps=STEPS,
            sequence_length=SEQUENCE_LENGTH,
            micro_batch=MICRO_BATCH,
            learning_rate=LEARNING_RATE,
            compute_dtype=compute_dtype,
            mesh="full",
            save_model=False,
        )


def save_model(shape: Shape, folder: Path) -> None:
    """Save a model with random weights in bfloat16, as the hub has Qwen2.5: whatever reads it starts from the same."""
    torch.manual_seed(0)
    config = Qwen2Config(**shape.config, bos_token_id=None, eos_token_id=None)
    model: Any = Qwen2ForCausalLM(config)
    model.to(torch.bfloat16).save_pretrained(folder)


def samples() -> Samples:
    """The data: a source file of Python's library, a token per byte, so that there is something to learn."""
    ids = np.frombuffer(Path(argparse.__file__).read_bytes(), dtype=np.uint8).astype(np.int32)
    return Samples(ids, SEQUENCE_LENGTH, seed=0)
