"""Which tokens are trained on, and by whom."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.helpers import VOCABULARY, MakeArguments
from training import data
from training.data import PIECE, Samples, make_tokens, read_pieces, text_files, tokenise
from training.model import read_config, read_tokenizer

END_OF_TEXT = 256


@given(
    count=st.integers(1, 40),
    length=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    world_size=st.sampled_from([1, 2, 4, 8]),
    step=st.integers(0, 20),
)
def test_the_global_batch_does_not_depend_on_the_number_of_processes(
    count: int, length: int, seed: int, world_size: int, step: int
) -> None:
    tokens = torch.arange(count * length + 1, dtype=torch.int32)
    shares = [
        Samples(tokens, length, seed).batch(step, 8 // world_size, rank, world_size) for rank in range(world_size)
    ]
    assert torch.equal(torch.cat(shares), Samples(tokens, length, seed).batch(step, 8, 0, 1))


@given(count=st.integers(1, 40), length=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), passes=st.integers(0, 3))
def test_each_pass_predicts_every_token_once(count: int, length: int, seed: int, passes: int) -> None:
    samples = Samples(torch.arange(count * length + 1, dtype=torch.int32), length, seed)
    drawn = [samples[index] for index in range(passes * count, (passes + 1) * count)]
    assert all(sample.dtype == torch.int64 and sample.shape == (length + 1,) for sample in drawn)
    assert sorted(int(token) for sample in drawn for token in sample[1:]) == list(range(1, count * length + 1))


def order(seed: int, passes: int) -> list[int]:
    samples = Samples(torch.arange(101, dtype=torch.int32), 1, seed)
    return [int(samples[index][0]) for index in range(passes * 100, (passes + 1) * 100)]


def test_the_order_is_the_seeds_and_new_in_each_pass() -> None:
    assert order(3, 0) == order(3, 0)
    assert order(3, 0) != order(4, 0)
    assert order(3, 0) != order(3, 1)
    assert order(3, 0) != sorted(order(3, 0))


def test_synthetic_tokens_are_the_seeds_and_within_the_vocabulary(arguments: MakeArguments) -> None:
    args = arguments(steps=50, sequence_length=64, micro_batch=2, seed=5)
    config = read_config(args)
    tokens = make_tokens(args, config, world_size=3)
    assert tokens.shape == (50 * 2 * 3 * 64 + 1,)
    assert set(np.unique(tokens)) == set(range(VOCABULARY))
    assert np.array_equal(tokens, make_tokens(args, config, world_size=3))
    assert not np.array_equal(tokens, make_tokens(arguments(steps=50, sequence_length=64, micro_batch=2), config, 3))


def test_a_text_is_tokenised_as_far_as_the_run_needs(
    arguments: MakeArguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "long.txt"
    text.write_text("all work and no play\n" * (3 * PIECE // 21))
    args = arguments(data=str(text), steps=2, micro_batch=3, sequence_length=10)
    config = read_config(args)
    tokens = make_tokens(args, config, world_size=2)
    assert len(tokens) == 2 * 3 * 2 * 10 + 1
    assert read_tokenizer(args, config).decode(tokens[:20]) == "all work and no play"

    read: list[int] = []

    def recorded(path: Path) -> Iterator[str]:
        for piece in read_pieces(path):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(data, "read_pieces", recorded)
    tokenise(args, read_tokenizer(args, config), 100)
    assert sum(read) < 2 * PIECE


def test_a_short_text_is_used_whole_with_its_end_marked(arguments: MakeArguments, tmp_path: Path) -> None:
    for name, text in (("b.txt", "second"), ("a.md", "first"), ("c.py", ""), ("d.csv", "no"), (".hidden.txt", "no")):
        (tmp_path / name).write_text(text)
    args = arguments(data=str(tmp_path), sequence_length=4)
    config = read_config(args)
    tokenizer = read_tokenizer(args, config)
    tokenizer.eos_token = "<|endoftext|>"
    assert tokenizer.decode(tokenise(args, tokenizer, 1000)) == "first<|endoftext|>second<|endoftext|>"


def test_the_standard_library_is_text_on_any_machine(arguments: MakeArguments) -> None:
    files = text_files("stdlib")
    assert files == sorted(files)
    assert any(path.name == "argparse.py" for path in files)
    assert not any({"test", "site-packages"} & set(path.parts) for path in files)
    assert sum(path.stat().st_size for path in files) > 5_000_000
    for path in files:
        path.read_text(encoding="utf-8")
    args = arguments(data="stdlib", steps=5)
    assert len(make_tokens(args, read_config(args), 1)) == 5 * 32 + 1
