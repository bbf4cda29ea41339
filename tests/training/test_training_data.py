"""Which tokens are trained on, and by whom."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from tests.training.helpers import VOCABULARY, MakeArguments
from training import corpus
from training.arguments import Arguments
from training.checks import check_inputs
from training.corpus import PIECE, Corpus, SourceFile, open_corpus
from training.data import Samples
from training.errors import InputError
from training.loss import IGNORED
from training.model import read_config, read_tokenizer
from training.tokens import TokenFile, check_beginning, fetch, prepare, synthetic, tokens_folder

END_OF_TEXT = 256


def numbered(count: int) -> npt.NDArray[np.int32]:
    return np.arange(count, dtype=np.int32)


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
    ids = numbered(count * length + 1)
    share = 8 // world_size
    shares = [Samples(ids, length, seed).batch(step * 8 + rank * share, share)[0] for rank in range(world_size)]
    assert torch.equal(torch.cat(shares), Samples(ids, length, seed).batch(step * 8, 8)[0])


@given(count=st.integers(1, 40), length=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), passes=st.integers(0, 3))
def test_each_pass_predicts_every_token_once(count: int, length: int, seed: int, passes: int) -> None:
    samples = Samples(numbered(count * length + 1), length, seed)
    drawn = [samples[index] for index in range(passes * count, (passes + 1) * count)]
    assert all(sample.dtype == torch.int64 and sample.shape == (length + 1,) for sample in drawn)
    assert sorted(int(token) for sample in drawn for token in sample[1:]) == list(range(1, count * length + 1))


@given(world_size=st.integers(1, 5), size=st.integers(1, 3), held_out=st.integers(1, 9))
def test_held_out_sequences_are_each_evaluated_once_and_never_drawn(world_size: int, size: int, held_out: int) -> None:
    samples = Samples(numbered(13 * 2 + 1), 2, 0, held_out)
    shares = [samples.held_out(rank, world_size, size) for rank in range(world_size)]
    assert len({len(share) for share in shares}) == 1  # every rank has as many forwards, or one would wait for ever
    counted = sorted(int(t) for share in shares for _, targets in share for t in targets.flatten() if t != IGNORED)
    assert counted == list(range((13 - held_out) * 2 + 1, 13 * 2 + 1))
    assert {int(samples[index][0]) // 2 for index in range(50)} == set(range(13 - held_out))


def order(seed: int, passes: int) -> list[int]:
    samples = Samples(numbered(101), 1, seed)
    return [int(samples[index][0]) for index in range(passes * 100, (passes + 1) * 100)]


def test_the_order_is_the_seeds_and_new_in_each_pass() -> None:
    assert order(3, 0) == order(3, 0)
    assert order(3, 0) != order(4, 0)
    assert order(3, 0) != order(3, 1)
    assert order(3, 0) != sorted(order(3, 0))


def test_what_begins_a_document_is_not_predicted_from_the_one_before() -> None:
    samples = Samples(np.array([1, 2, 9, 3, 9, 4, 5, 6, 7], dtype=np.int32), 8, 0, end=9)
    ids, targets = samples.batch(0, 1)
    assert ids.tolist() == [[1, 2, 9, 3, 9, 4, 5, 6]]
    assert targets.tolist() == [[2, 9, IGNORED, 9, IGNORED, 5, 6, 7]]
    assert samples.targets_between(0, 1) == 6
    assert samples.targets_between(0, 3) == 18


def test_synthetic_tokens_are_the_seeds_and_within_the_vocabulary(arguments: MakeArguments) -> None:
    args = arguments(sequence_length=64, seed=5)
    config = read_config(args)
    tokens = synthetic(args, config, 300)
    assert tokens.shape == (300 * 64 + 1,)
    assert set(np.unique(tokens)) == set(range(VOCABULARY))
    assert np.array_equal(tokens, synthetic(args, config, 300))
    assert not np.array_equal(tokens, synthetic(arguments(sequence_length=64), config, 300))


def decoded(args: Arguments) -> str:
    config = read_config(args)
    tokenizer = read_tokenizer(args, config)
    tokens = prepare(args, config)
    assert tokens is not None
    return str(tokenizer.decode(fetch(args, tokens).tolist()))


def with_end(model: str, folder: Path) -> str:
    """The model of config.json `model`, in `folder`, with a tokenizer that marks the end of a text."""
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text((Path(model).parent / name).read_text())
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return str(folder / "config.json")


@pytest.fixture
def marked(arguments: MakeArguments, tmp_path_factory: pytest.TempPathFactory) -> MakeArguments:
    model = with_end(arguments().model, tmp_path_factory.mktemp("marked"))
    return lambda **changes: arguments(**{"model": model, "sequence_length": 4} | changes)


def write_records(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "first"}\n\n{"text": "", "other": 1}\n{"text": "sec\\nond"}')
    pq.write_table(pa.table({"text": ["third", None, "fourth"], "id": [1, 2, 3]}), folder / "b.parquet")
    (folder / "c.txt").write_text("fifth")
    (folder / "d.csv").write_text("no")
    (folder / ".hidden.txt").write_text("no")
    (folder / "e.md").write_text("")


RECORDS = "".join(f"{text}<|endoftext|>" for text in ("first", "sec\nond", "third", "fourth", "fifth"))


def test_text_jsonl_and_parquet_are_documents_whose_ends_are_marked(marked: MakeArguments, tmp_path: Path) -> None:
    write_records(tmp_path / "data")
    args = marked(data=str(tmp_path / "data"))
    assert decoded(args) == RECORDS
    check_inputs(args)


def test_data_in_s3_become_a_token_file_in_s3_that_each_node_copies(
    marked: MakeArguments, tmp_path: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_records(tmp_path / "data")
    bucket, _ = fs.FileSystem.from_uri(s3)
    fs.copy_files(str(tmp_path / "data"), "results/data", destination_filesystem=bucket)
    args = marked(data="s3://results/data", results=s3)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "node-1"))
    (tmp_path / "node-1").mkdir()
    assert decoded(args) == RECORDS
    # Another node, whose disk has nothing, and a later run: nothing is tokenised again.
    (tmp_path / "node-2").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "node-2"))
    monkeypatch.setattr(Corpus, "documents", lambda self: pytest.fail("read again"))
    assert decoded(args) == RECORDS
    assert len(list(tokens_folder(args).glob("*.bin"))) == 1


def test_a_data_set_of_the_hub(marked: MakeArguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the hub's local cache, laid out as huggingface_hub does: nothing is downloaded here."""
    commit = "0123456789" * 4
    snapshot = tmp_path / "cache" / "datasets--org--name" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    write_records(snapshot / "train")
    (snapshot / "README.md").write_text("not data")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert decoded(marked(data="hf://datasets/org/name/train", data_revision=commit)) == RECORDS
    # A node that downloads it again has other file times, and the same data.
    files = open_corpus(marked(data="hf://datasets/org/name", data_revision=commit)).files
    assert {file.modified for file in files} == {commit}
    with pytest.raises(InputError, match=r"--data hf://datasets/org/name: .*at revision " + "9" * 40):
        open_corpus(marked(data="hf://datasets/org/name", data_revision="9" * 40))


def test_tokens_are_made_once_for_each_content(marked: MakeArguments, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one text")
    args = marked(data=str(text))
    config = read_config(args)
    first = prepare(args, config)
    stamp = [path.stat().st_mtime_ns for path in sorted(tokens_folder(args).iterdir())]
    assert prepare(args, config) == first
    assert prepare(marked(data=str(text), seed=3, steps=7), config) == first
    assert [path.stat().st_mtime_ns for path in sorted(tokens_folder(args).iterdir())] == stamp
    text.write_text("other text")
    other = prepare(args, config)
    assert first is not None
    assert other is not None
    assert first.key != other.key
    assert other == TokenFile(other.key, len("other text") + 1, END_OF_TEXT)


def test_a_check_reads_no_further_than_it_must(
    arguments: MakeArguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "long.txt"
    text.write_text("all work and no play\n" * (3 * PIECE // 21))
    args = arguments(data=str(text))
    read: list[int] = []
    pieces = Corpus._text

    def recorded(self: Corpus, file: SourceFile) -> Iterator[str]:
        for piece in pieces(self, file):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(corpus.Corpus, "_text", recorded)
    check_beginning(args, read_tokenizer(args, read_config(args)))
    assert 0 < sum(read) < 2 * PIECE


def test_the_standard_library_is_text_on_any_machine(arguments: MakeArguments) -> None:
    files = open_corpus(arguments(data="stdlib")).files
    names = [Path(file.name) for file in files]
    assert names == sorted(names)
    assert Path("argparse.py") in names
    assert not any({"test", "site-packages"} & set(name.parts) for name in names)
    assert sum(file.size for file in files) > 5_000_000
    for file in files:
        Path(file.path).read_text(encoding="utf-8")
