"""What the tests of training/ share: tiny models, their tokenizer, types of the fixtures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPTNeoXConfig, LlamaConfig, OPTConfig, PretrainedConfig, Qwen2Config

from training.arguments import Arguments

ROOT = Path(__file__).parents[2]
VOCABULARY = 300
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
CONFIGS: dict[str, PretrainedConfig] = {
    "qwen2-tied": Qwen2Config(**COMMON, intermediate_size=128, num_key_value_heads=2, tie_word_embeddings=True),
    "qwen2-untied": Qwen2Config(**COMMON, intermediate_size=128, num_key_value_heads=2, tie_word_embeddings=False),
    "llama": LlamaConfig(**COMMON, intermediate_size=128, num_key_value_heads=2),
    "gpt-neox": GPTNeoXConfig(**COMMON, intermediate_size=128, hidden_dropout=0.0, attention_dropout=0.0),
    # Its layers lie one level deeper than the others', beside learned positions; tied.
    "opt": OPTConfig(**COMMON, ffn_dim=128, word_embed_proj_dim=64, dropout=0.0),
}

MakeArguments = Callable[..., Arguments]
Gang = Callable[[int, list[Arguments]], list[list[dict[str, Any]]]]


def save_tokenizer(folder: Path, size: int = 257) -> None:
    """A byte-level tokenizer of 256 bytes and an end-of-text token; a larger `size` adds unused words."""
    unused = [f"<unused{i}>" for i in range(size - 257)]
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|endoftext|>", *unused]
    tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))


def losses(args: Arguments) -> list[float]:
    """The loss of each step, from metrics.jsonl."""
    lines = Path(args.results, args.run_name, "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]
