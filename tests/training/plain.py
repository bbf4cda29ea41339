"""The same training written in plain PyTorch: one process, no sharding, no chunks, none of the code that it checks."""

from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from training.arguments import Arguments


def plain_losses(args: Arguments, global_batch: int) -> list[float]:
    """Train on the text file --data, without dropout and without documents to keep apart."""
    torch.manual_seed(args.seed)
    config = AutoConfig.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(str(Path(args.model).parent))
    tokens = torch.tensor(tokenizer(Path(args.data).read_text(), add_special_tokens=False)["input_ids"])
    length = args.sequence_length
    count = (len(tokens) - 1) // length
    order = np.concatenate([np.random.default_rng((args.seed, number)).permutation(count) for number in range(9)])
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0)
    values = []
    for step in range(args.steps):
        optimizer.param_groups[0]["lr"] = args.learning_rate * min(1, (step + 1) / 10)
        chosen = order[step * global_batch : (step + 1) * global_batch]
        batch = torch.stack([tokens[i * length : (i + 1) * length + 1] for i in chosen])
        logits = model(input_ids=batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        values.append(loss.item())
    return values
