"""Each thing that can be wrong with the data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.training.helpers import CONFIGS, MakeArguments, refused
from training.checks import check_inputs

Break = Callable[[Path], object]


@pytest.mark.parametrize(
    ("make", "expected", "remedy"),
    [
        (
            lambda path: None,
            "'synthetic', 'stdlib', a file or a folder, local or s3://, or hf://datasets/org/name",
            "There is no such file",
        ),
        (lambda path: path.write_text(""), "more than 32 tokens (one sequence), and it has 0", "Give more text"),
        (lambda path: path.write_text("x" * 31), "more than 32 tokens (one sequence), and it has 32", "lower --seq"),
        (lambda path: path.write_bytes(b"\xff" * 99), "UTF-8 text", "Convert or remove this file: 'utf-8'"),
        (lambda path: path.mkdir(), "a folder with files .jsonl, .md, .parquet, .py, .txt", "It holds none."),
    ],
)
def test_a_text_that_cannot_be_trained_on(
    make: Break, expected: str, remedy: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    make(text)
    got = refused(arguments(data=str(text)))
    assert got[:3] == ("data", str(text), expected)
    assert remedy in got[3]


def test_a_text_of_one_sequence_and_its_next_token_is_enough(arguments: MakeArguments, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("x" * 32)
    check_inputs(arguments(data=str(tmp_path / "text.txt")))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.csv", "a,b", "a file .jsonl, .md, .parquet, .py, .txt"),
        ("x.jsonl", "{", "one JSON object per line"),
        ("x.jsonl", '{"text": "a"}\n[]', "a text under 'text', and it is no object"),
        ("x.jsonl", '{"text": null}', "a text under 'text', and it is null"),
        ("x.jsonl", '{"text": "half a pair \\ud800"}', "a text that UTF-8 can hold"),
        ("x.jsonl", '{"body": "a", "id": 1}', "a text under 'text', and it has body, id"),
        ("x.parquet", "PAR", "a parquet file"),
    ],
)
def test_records_that_cannot_be_read(
    name: str, content: str, expected: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    field, value, wanted, remedy = refused(arguments(data=str(tmp_path / name)))
    assert (field, wanted) == ("data", expected)
    assert value.startswith(str(tmp_path / name))
    assert remedy


def test_the_columns_of_a_parquet_file_are_named(arguments: MakeArguments, tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["a" * 99], "id": [1]}), tmp_path / "x.parquet")
    got = refused(arguments(data=str(tmp_path / "x.parquet")))
    assert got[2:] == ("a column 'text', and it has body, id", "Name the right one by --text-field.")
    check_inputs(arguments(data=str(tmp_path / "x.parquet"), text_field="body"))


@pytest.mark.parametrize(
    ("values", "kind"),
    [([["a", "b"]], "list<element: string>"), ([1, 2], "int64"), ([b"a"], "binary")],
)
def test_a_parquet_column_that_is_no_text(
    values: list[Any], kind: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"text": values}), tmp_path / "x.parquet")
    got = refused(arguments(data=str(tmp_path / "x.parquet")))
    assert got[2] == f"texts in the column 'text', and they are {kind}"


def test_a_parquet_column_that_is_a_dictionary_of_texts(arguments: MakeArguments, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array(["a" * 99]).dictionary_encode()}), tmp_path / "x.parquet")
    check_inputs(arguments(data=str(tmp_path / "x.parquet")))


def test_a_parquet_file_whose_pages_are_damaged(arguments: MakeArguments, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": [str(n) * 50 for n in range(2000)]}), file)
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes(1000) + content[1004:])
    assert refused(arguments(data=str(file)))[2] == "a parquet file that can be read"


def test_a_text_field_without_records_would_be_ignored(arguments: MakeArguments) -> None:
    assert refused(arguments(data=__file__, text_field="body"))[:2] == ("text-field", "body")


def test_synthetic_data_needs_no_tokenizer(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["llama"].save_pretrained(tmp_path)
    check_inputs(arguments(model=str(tmp_path / "config.json")))


def test_checking_writes_nothing(arguments: MakeArguments, tmp_path: Path) -> None:
    check_inputs(arguments(data="stdlib"))
    assert list(tmp_path.iterdir()) == []
