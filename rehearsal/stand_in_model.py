"""A model small enough for a laptop: random weights, a byte-level tokenizer, nothing downloaded."""

import json
from pathlib import Path

# Marks the end of each file of text, as Qwen2's own token of this name does.
END_OF_TEXT = "<|endoftext|>"
SPECIAL_TOKENS = [END_OF_TEXT, "<|im_start|>", "<|im_end|>"]
# The same architecture as the default model, Qwen2.5-1.5B, with tied embeddings as there; about 1.8M parameters.
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 192,
    "intermediate_size": 576,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "initializer_range": 0.02,
}


def write_stand_in_model(folder: Path) -> Path:
    """Write config.json and the tokenizer to `folder`, and return the path of config.json, which --model takes."""
    # Imported here: the rest of the rehearsal needs no tokenizer.
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={symbol: number for number, symbol in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    # The general class reads tokenizer.json as it is; that of Qwen2 would put its own pre-tokenizer in front.
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END_OF_TEXT, "pad_token": END_OF_TEXT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG | {"vocab_size": tokenizer.get_vocab_size()}, indent=2))
    return config
