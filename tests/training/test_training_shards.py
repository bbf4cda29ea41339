"""How many workers hold one copy of the model, and what of it is refused before any of them starts."""

import pytest
import ray

from tests.training.helpers import MakeArguments, words
from training import train
from training.arguments import Arguments
from training.errors import InputError
from training.shards import check_shards, shard_size


@pytest.mark.parametrize(
    ("mesh", "size", "world_size", "local", "expected"),
    [
        ("auto", None, 8, 4, 4),
        ("auto", None, 8, 8, 8),
        ("auto", 2, 8, 8, 2),
        # One GPU per node: a group of one would shard nothing, unless it is asked for.
        ("auto", None, 8, 1, 8),
        ("auto", 1, 8, 1, 1),
        ("hsdp", None, 8, 1, 1),
        ("hsdp", None, 8, 4, 4),
        ("full", None, 8, 4, 8),
    ],
)
def test_shard_size(
    mesh: str, size: int | None, world_size: int, local: int, expected: int, arguments: MakeArguments
) -> None:
    assert shard_size(arguments(mesh=mesh, shard_size=size), world_size, local) == expected


@pytest.mark.parametrize(
    ("args", "world_size", "field", "expected"),
    [
        ({"mesh": "hsdp"}, 4, "mesh", "more than one group of 4 workers, and there are 4 workers"),
        ({"shard_size": 3}, 8, "shard-size", "a number that divides the 8 workers"),
    ],
)
def test_a_mesh_that_cannot_be(
    args: dict[str, object], world_size: int, field: str, expected: str, arguments: MakeArguments
) -> None:
    given: Arguments = arguments(**args)
    with pytest.raises(InputError) as error:
        shard_size(given, world_size, 4)
    assert (error.value.field, error.value.expected) == (field, expected)


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ({"shard_size": 3, "workers": 8}, "--shard-size 3: expected a number that divides the 8 workers."),
        ({"shard_size": 16, "workers": 8}, "--shard-size 16: expected a number that divides the 8 workers."),
        (
            {"mesh": "hsdp", "shard_size": 8, "workers": 8},
            "--mesh hsdp: expected more than one group of 8 workers, and there are 8 workers.",
        ),
        (
            {"mesh": "hsdp", "workers": 1},
            "--mesh hsdp: expected more than one group of 1 workers, and there are 1 workers.",
        ),
    ],
)
def test_what_the_flags_alone_tell_is_refused_with_them(
    flags: dict[str, object], error: str, arguments: MakeArguments
) -> None:
    with pytest.raises(InputError) as refusal:
        arguments(**flags)
    assert str(refusal.value).startswith(error)


@pytest.mark.parametrize(
    ("flags", "workers", "nodes"),
    [
        ({"shard_size": 4}, 8, 2),
        ({"shard_size": 8}, 8, 2),  # auto: one copy over all
        ({"mesh": "hsdp", "shard_size": 2}, 8, 1),
        ({"mesh": "hsdp"}, 8, 2),  # of 4 and 4, or else the workers say so
        ({}, 8, 1),
        ({"mesh": "full"}, 3, 2),
        ({}, 1, 1),
    ],
)
def test_what_may_be_is_let_through(
    flags: dict[str, object], workers: int, nodes: int, arguments: MakeArguments
) -> None:
    check_shards(arguments(**flags), workers, nodes)
    check_shards(arguments(**flags, workers=workers), workers, nodes)


def node(*, alive: bool = True, **resources: float) -> dict[str, object]:
    return {"Alive": alive, "Resources": {"memory": 1e9, **resources}}


@pytest.mark.parametrize(
    ("flags", "nodes", "error"),
    [
        (
            {"shard_size": 3},
            [node(CPU=48.0, GPU=4.0), node(CPU=48.0, GPU=4.0)],
            "--shard-size 3: expected a number that divides the 8 workers.",
        ),
        (
            {"mesh": "hsdp"},
            [node(CPU=96.0, GPU=8.0), node(CPU=4.0), node(CPU=96.0, GPU=8.0, alive=False)],
            "--mesh hsdp: expected more than one group of 8 workers, and there are 8 workers.",
        ),
    ],
)
def test_what_the_cluster_tells_is_refused_before_a_worker_starts(
    flags: dict[str, object],
    nodes: list[dict[str, object]],
    error: str,
    arguments: MakeArguments,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 96.0, "GPU": 8.0})
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(train, "fit", lambda *_: pytest.fail("a worker was started"))
    args = arguments(**flags)
    assert train.main(words(args)) == 2
    assert capsys.readouterr().err.startswith(f"error: {error}")
