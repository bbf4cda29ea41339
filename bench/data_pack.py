"""Texts to sequences in Ray Data's workers. Imports no more than that needs: each worker imports it at its start."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from rehearsal.stand_in_model import END_OF_TEXT

Ids = npt.NDArray[np.int32]


def tokenise(batch: dict[str, npt.NDArray[np.object_]], tokenizer: str, length: int) -> dict[str, Ids]:
    """Tokenise a batch of texts, all at once on all cores, with the tokenizer of that file; cut the row they make."""
    # For a parallel tokenizer, the library's own call for many texts; it keeps no offsets.
    found = _read(tokenizer).encode_batch_fast(batch["text"].tolist(), add_special_tokens=False)
    end = end_of_text(tokenizer)
    return {"ids": pack([np.array([*one.ids, end], dtype=np.int32) for one in found], length)}


def pack(documents: Sequence[Ids], length: int) -> Ids:
    """Return the sequences in a row of documents, of shape (sequences, length + 1); neighbours share one id."""
    row = np.concatenate(documents)
    count = (len(row) - 1) // length
    found: Ids = row[np.arange(count)[:, None] * length + np.arange(length + 1)]
    return found


def end_of_text(tokenizer: str) -> int:
    """Return the id that ends a document."""
    found: int = _read(tokenizer).token_to_id(END_OF_TEXT)
    return found


@cache  # once in a worker, not once in a task
def _read(tokenizer: str) -> Any:
    return Tokenizer.from_file(tokenizer)
