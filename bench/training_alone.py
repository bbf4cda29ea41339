"""The reference of the benchmark of training: one process in plain PyTorch, float32, nothing sharded."""

from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from bench.training_task import LEARNING_RATE, MICRO_BATCH, OURS, STEPS, Task, samples
from training.optimisation import BETAS, MAX_GRADIENT_NORM, WEIGHT_DECAY, learning_rate


def losses(task: Task, update: str) -> list[float]:
    """Train as a single process, and return the loss of each step.

    `update` is whose optimizer to use. Ours warms up, clips and has AdamW settings of its own; the recipe has AdamW's
    defaults. Each is held against its own, so that what differs is the sharding and the arithmetic alone.
    """
    torch.set_num_threads(1)  # on a busy machine more threads wait for each other, ten times as long as they work
    model: Any = AutoModelForCausalLM.from_pretrained(task.model, dtype=torch.float32)
    own: dict[str, Any] = {"betas": BETAS, "weight_decay": WEIGHT_DECAY} if update == OURS else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, **own)
    data, batch = samples(), MICRO_BATCH * task.ranks
    arguments = task.arguments("alone", "float32")
    found = []
    for step in range(1, STEPS + 1):
        ids, targets = data.batch((step - 1) * batch, batch)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(input_ids=ids).logits.flatten(0, 1), targets.flatten())
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        if update == OURS:
            nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
            optimizer.param_groups[0]["lr"] = learning_rate(arguments, step)
        optimizer.step()
        found.append(loss.item())
    return found
