"""Each thing that can be wrong with the input: which field, which value, what was expected, what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.training.helpers import CONFIGS, VOCABULARY, MakeArguments, save_tokenizer
from training.arguments import Arguments, parse
from training.checks import check_inputs, with_absolute_paths
from training.errors import InputError
from training.model import materialise
from training.train import choose_workers, main

REQUIRED = ["--run-name", "r", "--model", "a/b", "--data", "stdlib", "--results", "out"]


def test_flags_become_fields() -> None:
    flags = (
        "--revision abc --steps 7 --sequence-length 64 --micro-batch 2 --learning-rate 1e-4 --seed 3 "
        "--compute-dtype float32 --workers 4"
    )
    assert parse([*REQUIRED, *flags.split()]) == Arguments(
        run_name="r",
        model="a/b",
        data="stdlib",
        results="out",
        revision="abc",
        steps=7,
        sequence_length=64,
        micro_batch=2,
        learning_rate=1e-4,
        seed=3,
        compute_dtype="float32",
        workers=4,
    )


def test_defaults() -> None:
    args = parse(REQUIRED)
    assert (args.compute_dtype, args.workers, args.revision, args.seed) == ("bfloat16", None, None, 0)


def test_a_flag_given_twice_counts_the_second_time() -> None:
    args = parse([*REQUIRED, "--steps", "5", "--model", "c/d", "--steps", "9"])
    assert (args.steps, args.model) == (9, "c/d")


@pytest.mark.parametrize(
    ("flag", "value", "expected"),
    [
        ("run-name", "../other", "beginning with a letter or digit"),
        ("run-name", "", "beginning with a letter or digit"),
        ("model", "", "a value"),
        ("results", "gs://bucket/x", "s3://bucket/prefix"),
        ("results", "s3:///x", "s3://bucket/prefix"),
        ("resume", "../other", "beginning with a letter or digit"),
        ("accumulation", "0", "a whole number of at least 1"),
        ("warmup-steps", "-1", "a whole number of at least 0"),
        ("schedule", "linear", "constant or cosine"),
        ("mesh", "ddp", "auto or hsdp or full"),
        ("activation-checkpointing", "some", "full or selective or off"),
        ("compile", "yes", "on or off"),
        ("loss-chunk", "0", "a whole number of at least 1"),
        ("max-failures", "-1", "a whole number of at least 0"),
        ("peak-flops", "0", "a finite number above 0"),
        ("usd-per-hour", "-1", "a finite number above 0"),
        ("steps", "0", "a whole number of at least 1"),
        ("steps", "ten", "a whole number"),
        ("steps", "1.5", "a whole number"),
        ("sequence-length", "-1", "a whole number of at least 1"),
        ("micro-batch", "0", "a whole number of at least 1"),
        ("workers", "0", "a whole number of at least 1"),
        ("workers", "two", "a whole number"),
        ("learning-rate", "0", "a finite number above 0"),
        ("learning-rate", "nan", "a finite number above 0"),
        ("learning-rate", "inf", "a finite number above 0"),
        ("learning-rate", "small", "a number"),
        ("seed", "-1", "from 0 to 4294967295"),
        ("seed", "4294967296", "from 0 to 4294967295"),
        ("compute-dtype", "float16", "bfloat16 or float32"),
    ],
)
def test_a_bad_value_is_refused(flag: str, value: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [*REQUIRED, f"--{flag}", value]
    with pytest.raises(InputError) as error:
        parse(flags)
    assert error.value.field == flag
    assert str(error.value.value).strip("'") in (value, "0.0", f"{value}.0")
    assert expected in error.value.expected
    assert error.value.remedy

    assert main(flags) == 2
    assert capsys.readouterr().err == f"error: {error.value}\n"


@pytest.mark.parametrize("flags", [["--run-name", "r"], [*REQUIRED, "--step", "5"], [*REQUIRED, "--colour", "red"]])
def test_missing_shortened_and_unknown_flags_are_refused(flags: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(flags)
    assert stop.value.code == 2


def refused(args: Arguments) -> tuple[str, str, str, str]:
    with pytest.raises(InputError) as error:
        check_inputs(args)
    return error.value.field, str(error.value.value), error.value.expected, error.value.remedy


@pytest.mark.parametrize("model", ["/no/such/folder", "./missing", "missing", "/no/such/config.json"])
def test_a_model_that_does_not_exist(model: str, arguments: MakeArguments) -> None:
    field, value, expected, remedy = refused(arguments(model=model))
    assert (field, value) == ("model", model)
    assert expected == "a hub id org/name, a folder saved by transformers, or a config .json file"
    assert remedy.startswith("There is no such ")


def test_weights_that_are_no_safetensors(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["llama"].save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    args = arguments(model=str(tmp_path))
    with pytest.raises(InputError, match=r"--model .* with a readable weights"):
        materialise(args, CONFIGS["llama"])


def test_a_folder_without_weights(arguments: MakeArguments, models_folder: Path) -> None:
    field, value, expected, remedy = refused(arguments(model=str(models_folder / "llama")))
    assert (field, value) == ("model", str(models_folder / "llama"))
    assert "*.safetensors" in expected
    assert "save_pretrained" in remedy
    assert "config.json" in remedy


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "not a valid JSON file"),
        ("{}", "model_type"),
        (json.dumps({"model_type": "unheard-of"}), "unheard-of"),
        (CONFIGS["llama"].to_json_string().replace('"llama"', '"vit"'), "ViT"),
    ],
)
def test_a_config_that_is_no_causal_language_model(
    config: str, says: str, arguments: MakeArguments, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(config)
    field, _, expected, remedy = refused(arguments(model=str(tmp_path / "config.json")))
    assert field == "model"
    assert says in remedy
    assert "configuration" in expected or "causal language model" in expected


def test_a_hub_model_that_cannot_be_read(arguments: MakeArguments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    field, value, expected, remedy = refused(arguments(model="no-such-organisation/model", revision="abc"))
    assert (field, value) == ("model", "no-such-organisation/model")
    assert expected.endswith("with a readable configuration")
    assert "Check the name at revision abc, the network and HF_TOKEN" in remedy


def test_a_revision_of_a_local_model(arguments: MakeArguments) -> None:
    field, value, expected, remedy = refused(arguments(revision="abc"))
    assert (field, value) == ("revision", "abc")
    assert expected == "no revision for a local model"
    assert "hub id" in remedy


def test_a_sequence_longer_than_the_context(arguments: MakeArguments) -> None:
    field, value, expected, _ = refused(arguments(sequence_length=257))
    assert (field, value) == ("sequence-length", "257")
    assert expected.startswith("at most the 256 positions of ")
    check_inputs(arguments(sequence_length=256))


@pytest.mark.parametrize("architecture", ["qwen2-tied", "gpt-neox", "opt"])
def test_a_tokenizer_that_is_missing(architecture: str, arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS[architecture].save_pretrained(tmp_path)
    field, value, expected, remedy = refused(arguments(model=str(tmp_path / "config.json"), data="stdlib"))
    assert (field, value) == ("model", str(tmp_path / "config.json"))
    assert "tokenizer" in expected
    assert "missing" in remedy or "transformers says" in remedy


def test_a_tokenizer_of_another_model(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["qwen2-tied"].save_pretrained(tmp_path)
    args = arguments(model=str(tmp_path / "config.json"), data="stdlib")
    save_tokenizer(tmp_path, size=VOCABULARY)
    check_inputs(args)
    save_tokenizer(tmp_path, size=VOCABULARY + 1)
    field, value, expected, remedy = refused(args)
    assert (field, value) == ("model", str(tmp_path / "config.json"))
    assert expected == "a tokenizer whose ids lie below the model's vocab_size 300, and it has 301 of them"
    assert "tokenizer.json" in remedy


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


def test_a_place_that_is_not_read_from(arguments: MakeArguments) -> None:
    with pytest.raises(InputError, match=r"--data gs://bucket/x: expected a local path, s3:// or hf://datasets/"):
        arguments(data="gs://bucket/x")


def test_the_columns_of_a_parquet_file_are_named(arguments: MakeArguments, tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["a" * 99], "id": [1]}), tmp_path / "x.parquet")
    got = refused(arguments(data=str(tmp_path / "x.parquet")))
    assert got[2:] == ("a column 'text', and it has body, id", "Name the right one by --text-field.")
    check_inputs(arguments(data=str(tmp_path / "x.parquet"), text_field="body"))


@pytest.mark.parametrize(
    ("flags", "field", "expected"),
    [
        ("--data-revision abc", "data-revision", "none for data that are not hf://"),
        ("--mesh full --shard-size 2", "shard-size", "none with --mesh full"),
        ("--keep-checkpoints 3", "keep-checkpoints", "none without checkpoints"),
        ("--checkpoint-every 101", "checkpoint-every", "at most the 100 --steps"),
        ("--data synthetic --text-field body", "text-field", "none for synthetic"),
        ("--evaluate-every 10", "evaluate-every", "with --evaluation-sequences"),
        ("--evaluate-every 101 --evaluation-sequences 1", "evaluate-every", "at most the 100 --steps"),
        ("--evaluation-sequences 10", "evaluation-sequences", "with --evaluate-every"),
        ("--schedule cosine --warmup-steps 100", "warmup-steps", "fewer than the 100 --steps"),
        ("--profile-steps 96", "profile-steps", "at most 95"),
        ("--resume r", "resume", "another run's name"),
    ],
)
def test_what_would_be_ignored_is_refused(flags: str, field: str, expected: str) -> None:
    with pytest.raises(InputError) as error:
        parse([*REQUIRED, *flags.split()])
    assert error.value.field == field
    assert expected in error.value.expected


def test_a_text_field_without_records_would_be_ignored(arguments: MakeArguments) -> None:
    assert refused(arguments(data=__file__, text_field="body"))[:2] == ("text-field", "body")


def test_a_text_of_one_sequence_and_its_next_token_is_enough(arguments: MakeArguments, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("x" * 32)
    check_inputs(arguments(data=str(tmp_path / "text.txt")))


def test_synthetic_data_needs_no_tokenizer(arguments: MakeArguments, tmp_path: Path) -> None:
    CONFIGS["llama"].save_pretrained(tmp_path)
    check_inputs(arguments(model=str(tmp_path / "config.json")))


def test_checking_writes_nothing(arguments: MakeArguments, tmp_path: Path) -> None:
    check_inputs(arguments(data="stdlib"))
    assert list(tmp_path.iterdir()) == []


def test_local_paths_become_absolute_and_others_stay(
    arguments: MakeArguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    local = with_absolute_paths(arguments(model="folder", data="text", results="out/put"))
    assert (local.model, local.data, local.results) == tuple(str(tmp_path / n) for n in ("folder", "text", "out/put"))
    for data in ("stdlib", "s3://bucket/data", "hf://datasets/org/name"):
        remote = arguments(model="org/name", data=data, results="s3://bucket/prefix")
        assert with_absolute_paths(remote) == remote


@pytest.mark.parametrize(
    ("wanted", "resources", "chosen"),
    [
        (None, {"CPU": 96.0, "GPU": 8.0}, (8, True)),
        (4, {"CPU": 96.0, "GPU": 8.0}, (4, True)),
        (2, {"CPU": 2.0}, (2, False)),
    ],
)
def test_workers(wanted: int | None, resources: dict[str, float], chosen: tuple[int, bool]) -> None:
    assert choose_workers(wanted, resources) == chosen


@pytest.mark.parametrize(
    ("wanted", "resources", "value", "expected"),
    [
        (9, {"CPU": 96.0, "GPU": 8.0}, 9, "at most the 8 GPUs of this Ray cluster, one per worker"),
        (3, {"CPU": 2.0}, 3, "at most the 2 CPUs of this Ray cluster, one per worker"),
        (None, {"CPU": 2.0}, "(not given)", "a number, for this Ray cluster has no GPU"),
        (1, {}, 1, "at most the 0 CPUs of this Ray cluster, one per worker"),
    ],
)
def test_workers_that_the_cluster_cannot_hold(
    wanted: int | None, resources: dict[str, float], value: object, expected: str
) -> None:
    with pytest.raises(InputError) as error:
        choose_workers(wanted, resources)
    assert (error.value.field, error.value.value, error.value.expected) == ("workers", value, expected)
