"""Tokens to train on, and which sample is whose.

A run's samples are numbered from 0 to steps x global batch, whatever the number of processes: one process with a
micro-batch of 8 and eight processes with a micro-batch of 1 see the same global batch at each step.
"""

import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from training.arguments import Arguments
from training.errors import InputError
from training.model import read_tokenizer

SYNTHETIC = "synthetic"
STDLIB = "stdlib"
TEXT_SUFFIXES = {".txt", ".py", ".md"}
# Installed packages differ between machines, and Python's own tests hold sources that are broken on purpose.
NOT_STDLIB = {"site-packages", "dist-packages", "test", "tests"}
# Bytes read and tokenised at a time: enough to keep the tokenizer busy, little enough to stop early in a long text.
PIECE = 1 << 20


def text_files(data: str) -> list[Path]:
    """Return the files behind --data in a fixed order. Raises InputError when there are none."""
    root = Path(sysconfig.get_path("stdlib")) if data == STDLIB else Path(data)
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise InputError(
            "data",
            data,
            f"'{SYNTHETIC}', '{STDLIB}', a text file or a folder of text files",
            "There is no such file or folder here: check the path.",
        )
    suffixes, skipped = ({".py"}, NOT_STDLIB) if data == STDLIB else (TEXT_SUFFIXES, set[str]())
    found = sorted(
        path
        for path in root.rglob("*")
        # Hidden folders are not text: .git, or the ..data link that doubles every file of a mounted ConfigMap.
        if path.suffix in suffixes and not any(p in skipped or p[0] == "." for p in path.relative_to(root).parts)
    )
    if not found:
        raise InputError("data", data, f"a folder with files {', '.join(sorted(suffixes))}", "It holds none.")
    return found


def read_pieces(path: Path) -> Iterator[str]:
    """Yield a file in pieces of whole lines. Raises InputError when it is not UTF-8."""
    try:
        with path.open(encoding="utf-8") as file:
            while lines := file.readlines(PIECE):
                yield "".join(lines)
    except UnicodeDecodeError as error:
        raise InputError("data", path, "UTF-8 text", f"Convert or remove this file: {error}") from error


def read_ids(files: Iterable[Path], tokenizer: Tokenizer) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the token ids of each piece of text, and after each file the end-of-text id, if the tokenizer has one."""
    for path in files:
        empty = True
        for text in read_pieces(path):
            # verbose=False: a text longer than the model's context is no mistake here, it is cut into sequences.
            yield np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype=np.int32)
            empty = False
        if not empty and tokenizer.eos_token_id is not None:
            yield np.array([tokenizer.eos_token_id], dtype=np.int32)


def tokenise(args: Arguments, tokenizer: Tokenizer, limit: int) -> npt.NDArray[np.int32]:
    """Return the first tokens of --data, at most `limit`, reading no further.

    Raises InputError when they do not fill one sequence and the token that follows it.
    """
    pieces = []
    count = 0
    for ids in read_ids(text_files(args.data), tokenizer):
        pieces.append(ids)
        count += len(ids)
        if count >= limit:
            break
    if count <= args.sequence_length:
        raise InputError(
            "data",
            args.data,
            f"more than {args.sequence_length} tokens (one sequence), and it has {count}",
            "Give more text, or lower --sequence-length.",
        )
    return np.concatenate(pieces)[:limit]


def make_tokens(args: Arguments, config: PretrainedConfig, world_size: int) -> npt.NDArray[np.int32]:
    """Return the tokens that the run needs, or all there are when the text is shorter. Raises InputError."""
    needed = args.steps * args.micro_batch * world_size * args.sequence_length + 1
    if args.data == SYNTHETIC:
        vocabulary = config.get_text_config().vocab_size
        return np.random.default_rng(args.seed).integers(0, vocabulary, size=needed, dtype=np.int32)
    return tokenise(args, read_tokenizer(args, config), needed)


class Samples:
    """Sequences cut from one token tensor, shuffled anew by `seed` for each pass over them.

    Sample i is the same for every process that holds the same tokens. It has sequence_length + 1 tokens: the last is
    only predicted, so neighbours share one token and every token is a target once.
    """

    def __init__(self, tokens: torch.Tensor, sequence_length: int, seed: int) -> None:
        self._tokens = tokens
        self._length = sequence_length
        self._seed = seed
        self._count = (len(tokens) - 1) // sequence_length
        self._pass = -1
        self._order: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return global sample `index` (any from 0: the order wraps), int64 of shape (sequence_length + 1,)."""
        passes, position = divmod(index, self._count)
        if passes != self._pass:
            self._pass, self._order = passes, np.random.default_rng((self._seed, passes)).permutation(self._count)
        start = int(self._order[position]) * self._length
        return self._tokens[start : start + self._length + 1].long()

    def batch(self, step: int, micro_batch: int, rank: int, world_size: int) -> torch.Tensor:
        """Return this rank's share of the global batch of `step` (from 0), shape (micro_batch, sequence_length + 1)."""
        first = (step * world_size + rank) * micro_batch
        return torch.stack([self[index] for index in range(first, first + micro_batch)])
