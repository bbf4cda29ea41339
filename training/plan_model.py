"""What a model is made of, from its config.json alone: parameter shapes by FSDP group, and FLOPs per token.

No torch here: the checks at synth import this.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training.errors import InputError

Shape = tuple[int, ...]

# huggingface.co/Qwen/Qwen2.5-1.5B, config.json at commit 8faed761d45a263340a0528343f099c05c9a4323: what matters here.
QWEN2_5_1_5B: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "vocab_size": 151_936,
    "tie_word_embeddings": True,
}
# Decoders of gated MLP, grouped-query attention and RMSNorm: which of them have biases on q, k, v, and norms on q, k.
_BIASED = {"qwen2"}
_NORMED_HEADS = {"qwen3"}
_FAMILIES = {"qwen2", "qwen3", "llama", "mistral"}
# transformers' default of tie_word_embeddings, which a config.json leaves out when it is this.
_TIED_BY_DEFAULT = False


@dataclass(frozen=True)
class Group:
    """The parameters that FSDP gathers together; `kept`: not freed between forward and backward."""

    shapes: tuple[Shape, ...]
    kept: bool = False

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    def shard(self, ranks: int) -> int:
        """Elements of one rank's shard as FSDP2 sends it: each parameter's first dimension divided, rounded up."""
        return sum(-(-shape[0] // ranks) * math.prod(shape[1:]) for shape in self.shapes)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A decoder-only language model. `blocks` are alike; `ends` hold the embedding, the last norm and the head.

    Widths in elements: `query` and `key_value` of all heads together.
    """

    hidden: int
    intermediate: int
    heads: int
    query: int
    key_value: int
    vocabulary: int
    blocks: tuple[Group, ...]
    ends: tuple[Group, ...]

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in the order in which they are given."""
        return self.ends + self.blocks

    @property
    def parameters(self) -> int:
        """Number of parameters, a tied embedding once."""
        return sum(group.parameters for group in self.groups)

    def flops_per_token(self, sequence_length: int, *, recompute: bool = False) -> float:
        """As the function of that name; with `recompute` also the blocks' second forward under full activation
        checkpointing.
        """
        used = self.parameters - (self.vocabulary * self.hidden if len(self.ends) == 2 else 0)
        blocks = sum(group.parameters for group in self.blocks)
        again = flops_per_token(blocks, len(self.blocks), self.query, sequence_length) / 3 if recompute else 0.0
        return flops_per_token(used, len(self.blocks), self.query, sequence_length) + again


def flops_per_token(parameters: int, layers: int, width: int, sequence_length: int) -> float:
    """Floating point operations of forward and backward for one token, without recomputation.

    6 per parameter, plus causal attention's two products: 6 x layers x width x sequence length, half of the full
    square (PaLM, appendix B, halved for the causal mask). `width` is that of all query heads together; `parameters`
    leaves out an untied embedding, which is a look-up without operations.
    """
    return 6.0 * parameters + 6.0 * layers * width * sequence_length


def read_model(config: Mapping[str, Any]) -> Model:
    """The model that a config.json (as a mapping) describes. Raises InputError for a family that is not known here."""
    family = str(config.get("model_type"))
    if family not in _FAMILIES:
        raise InputError(
            "model",
            family,
            f"a model_type of {', '.join(sorted(_FAMILIES))} to plan for",
            "Other decoders train, but the plan does not know their shapes.",
        )
    hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    head = int(config.get("head_dim") or hidden // heads)
    query, key_value = heads * head, int(config.get("num_key_value_heads") or heads) * head
    intermediate, vocabulary = int(config["intermediate_size"]), int(config["vocab_size"])
    biased = family in _BIASED or bool(config.get("attention_bias"))
    block: list[Shape] = [(query, hidden), (key_value, hidden), (key_value, hidden), (hidden, query)]
    block += [(intermediate, hidden), (intermediate, hidden), (hidden, intermediate), (hidden,), (hidden,)]
    block += [(query,), (key_value,), (key_value,)] if biased else []
    block += [(hidden,)] if bool(config.get("attention_bias")) and family not in _BIASED else []
    block += [(head,), (head,)] if family in _NORMED_HEADS else []
    matrix: Shape = (vocabulary, hidden)
    if config.get("tie_word_embeddings", _TIED_BY_DEFAULT):
        # One matrix, so one group. Backward starts with it: it is kept rather than gathered again at once.
        ends: tuple[Group, ...] = (Group((matrix, (hidden,)), kept=True),)
    else:
        ends = (Group((matrix,)), Group(((hidden,), matrix), kept=True))
    return Model(
        hidden=hidden,
        intermediate=intermediate,
        heads=heads,
        query=query,
        key_value=key_value,
        vocabulary=vocabulary,
        blocks=(Group(tuple(block)),) * int(config["num_hidden_layers"]),
        ends=ends,
    )
