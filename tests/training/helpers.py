"""What the tests of training/ share: tiny models, their tokenizer, types of the fixtures."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPTNeoXConfig, LlamaConfig, OPTConfig, PretrainedConfig, Qwen2Config

from training.arguments import Arguments
from training.checks import check_inputs
from training.errors import InputError
from training.results import RunFolder

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
Summaries = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs that `world_size` processes do one after the other, on nodes of `local_world_size`.

    With `dies_saving`, rank 1 is killed while it writes the checkpoint of that step, and no summary comes back.
    """

    world_size: int
    runs: list[Arguments]
    local_world_size: int | None = None
    dies_saving: int | None = None


def run_gang(folder: Path, groups: list[Group]) -> list[Summaries]:
    """Do the groups in processes of their own, started in `folder`; return each run's summaries by rank, in order."""
    tasks = folder / "groups.json"
    written = [
        {name: value for name, value in dataclasses.asdict(group).items() if value is not None} for group in groups
    ]
    tasks.write_text(json.dumps(written))
    started = folder / "started-here"
    started.mkdir()
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("gang.py")), str(tasks)],
        cwd=started,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # A checkpoint given to torch as a plain path lands here when the results are in S3.
    assert list(started.iterdir()) == []
    return [json.loads(line)["ranks"] for line in done.stdout.splitlines() if line.startswith('{"ranks"')]


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
    return [row["loss"] for row in rows(args)]


def rows(args: Arguments, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    """The objects of a file of the run, in a local folder or in S3."""
    text = RunFolder(args.results, args.run_name).read(name)
    assert text is not None
    return [json.loads(line) for line in text.splitlines()]


def words(args: Arguments) -> list[str]:
    """The command line that `args` come from."""
    pairs = (
        (f"--{name.replace('_', '-')}", {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value))
        for name, value in vars(args).items()
        if value is not None
    )
    return [word for pair in pairs for word in pair]


def refused(args: Arguments) -> tuple[str, str, str, str]:
    """Return field, value, expectation and remedy with which the inputs that `args` names are refused."""
    with pytest.raises(InputError) as error:
        check_inputs(args)
    return error.value.field, str(error.value.value), error.value.expected, error.value.remedy
