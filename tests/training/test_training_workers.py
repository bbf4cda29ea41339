"""How many workers a Ray cluster gives."""

import pytest

from training.errors import InputError
from training.train import choose_workers


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
