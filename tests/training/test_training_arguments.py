"""The command line: each value that no machine could run with, or that would have no effect."""

from pathlib import Path

import pytest

from tests.training.helpers import MakeArguments
from training.arguments import Arguments, parse
from training.checks import with_absolute_paths
from training.errors import InputError
from training.train import main

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


def test_a_place_that_is_not_read_from(arguments: MakeArguments) -> None:
    with pytest.raises(InputError, match=r"--data gs://bucket/x: expected a local path, s3:// or hf://datasets/"):
        arguments(data="gs://bucket/x")


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
