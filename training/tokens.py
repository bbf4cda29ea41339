"""Documents turned into one file of token ids, once: later runs and restarts map it into memory."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import fs
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from training.arguments import SYNTHETIC, Arguments
from training.corpus import Corpus, open_corpus
from training.errors import InputError
from training.model import read_tokenizer
from training.results import RunFolder, open_uri

Ids = npt.NDArray[np.int32]
# A run's name cannot begin with a dot, so no run's folder is in the way.
FOLDER = ".tokens"
# Changes with what is written, so that an older file is not taken for it.
FORMAT = 1


@dataclass(frozen=True)
class TokenFile:
    """Token ids as little-endian int32, all documents in a row, each followed by `end` if the tokenizer has such an id.

    `key` says what is in it: the files with their sizes and times, and the tokenizer.
    """

    key: str
    count: int
    end: int | None

    def map(self, folder: Path) -> Ids:
        """Return the ids of the file in `folder`, read as they are used."""
        return np.memmap(folder / f"{self.key}.bin", dtype="<i4", mode="r", shape=(self.count,))


def read_ids(corpus: Corpus, tokenizer: Tokenizer) -> Iterator[Ids]:
    """Yield the ids of all documents, in pieces, with the end of each marked. An empty document leaves nothing."""
    for document in corpus.documents():
        empty = True
        for text in document:
            # verbose=False: a text longer than the model's context is no mistake here, it is cut into sequences.
            ids = np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype="<i4")
            empty = empty and not len(ids)
            yield ids
        if not empty and tokenizer.eos_token_id is not None:
            yield np.array([tokenizer.eos_token_id], dtype="<i4")


def check_length(args: Arguments, count: int) -> None:
    """Raise InputError when `count` tokens do not fill a sequence besides the held-out ones, each with a next token."""
    needed = (1 + args.evaluation_sequences) * args.sequence_length
    if count <= needed:
        held = f" and {args.evaluation_sequences} held out" if args.evaluation_sequences else ""
        raise InputError(
            "data",
            args.data,
            f"more than {needed} tokens (one sequence{held}), and it has {count}",
            "Give more text, or lower --sequence-length.",
        )


def check_beginning(args: Arguments, tokenizer: Tokenizer) -> None:
    """Read as much of --data as fills the fewest sequences that a run needs. Raises InputError."""
    count = 0
    for ids in read_ids(open_corpus(args), tokenizer):
        count += len(ids)
        if count > (1 + args.evaluation_sequences) * args.sequence_length:
            return
    check_length(args, count)


def tokens_folder(args: Arguments) -> Path:
    """Return the folder on this machine for token files: beside the runs, or for S3 a temporary one of this node."""
    folder = RunFolder(args.results, FOLDER)
    return folder.local if folder.local is not None else Path(tempfile.gettempdir(), "training-tokens")


def prepare(args: Arguments, config: PretrainedConfig) -> TokenFile | None:
    """Tokenise --data unless that was done before; None for synthetic data. Raises InputError.

    With results in S3 the file goes there too: other nodes, and later clusters, `fetch` it.
    """
    if args.data == SYNTHETIC:
        return None
    tokenizer, corpus = read_tokenizer(args, config), open_corpus(args)
    key, shared = _key(corpus, tokenizer), RunFolder(args.results, FOLDER)
    if (known := shared.read(f"{key}.json")) is None:
        made = _write(corpus, tokenizer, key, tokens_folder(args))
        check_length(args, made.count)
        if shared.local is None:
            fs.copy_files(
                str(tokens_folder(args) / f"{key}.bin"),
                f"{shared.path}/{key}.bin",
                fs.LocalFileSystem(),
                shared.filesystem,
            )
        known = json.dumps(asdict(made))
        shared.write(f"{key}.json", known)  # last: with it the file counts as whole
    found = TokenFile(**json.loads(known))
    check_length(args, found.count)
    return found


def fetch(args: Arguments, tokens: TokenFile) -> Ids:
    """Return the ids of `tokens`, copied to this node first if it lacks them."""
    folder = tokens_folder(args)
    target = folder / f"{tokens.key}.bin"
    if not target.exists() or target.stat().st_size != 4 * tokens.count:
        shared, path = open_uri(RunFolder(args.results, FOLDER).uri)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as partial:
            fs.copy_files(f"{path}/{tokens.key}.bin", f"{partial}/ids", shared, fs.LocalFileSystem())
            Path(partial, "ids").replace(target)
    return tokens.map(folder)


def synthetic(args: Arguments, config: PretrainedConfig, sequences: int) -> Ids:
    """Return random ids for `sequences` sequences, the same on every machine."""
    vocabulary = config.get_text_config().vocab_size
    count = sequences * args.sequence_length + 1
    return np.random.default_rng(args.seed).integers(0, vocabulary, size=count, dtype=np.int32)


def _write(corpus: Corpus, tokenizer: Tokenizer, key: str, folder: Path) -> TokenFile:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    partial = folder / f".{key}.{os.getpid()}.partial"
    try:
        with partial.open("wb") as file:
            for ids in read_ids(corpus, tokenizer):
                file.write(ids.tobytes())
                count += len(ids)
        partial.replace(folder / f"{key}.bin")
    finally:
        partial.unlink(missing_ok=True)
    return TokenFile(key, count, tokenizer.eos_token_id)


def _key(corpus: Corpus, tokenizer: Tokenizer) -> str:
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    words = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    files = [[file.name, file.size, file.modified] for file in corpus.files]
    parts = [FORMAT, files, corpus.field, words, tokenizer.eos_token_id]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
