"""The benchmark of recoveries: what it calls a broken promise, and how it says so."""

import dataclasses
import io

import pytest
from rich.console import Console

from bench import recovery
from bench.recovery import Loss, differences, render

KEPT = Loss("worker", at_step=14, whole_before=12, resumed_from=12, seconds=17.0, start_seconds=20.0, broken=())
BROKEN = dataclasses.replace(KEPT, victim="host", seconds=30.0, broken=("step 13: None instead of (1.0, 2.0)",))


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ({1: (1.0, 2.0), 2: (0.5, 2.0)}, []),
        ({1: (1.0, 2.0), 2: (0.5, 2.0000000000000004)}, ["step 2: (0.5, 2.0000000000000004) instead of (0.5, 2.0)"]),
        ({2: (0.5, 2.0)}, ["step 1: None instead of (1.0, 2.0)"]),
        ({1: (1.0, 2.0), 2: (0.5, 2.0), 3: (0.1, 1.0)}, ["step 3: (0.1, 1.0) instead of None"]),
    ],
)
def test_runs_are_the_same_to_the_last_bit_or_part_at_a_step(
    got: dict[int, tuple[float, float]], said: list[str]
) -> None:
    assert differences({1: (1.0, 2.0), 2: (0.5, 2.0)}, got) == said


def test_the_table_has_each_run_and_its_victims_medians() -> None:
    output = io.StringIO()
    Console(file=output, width=140).print(render([KEPT, dataclasses.replace(KEPT, seconds=19.0), BROKEN]))
    rows = [[cell.strip() for cell in line.strip("│\n").split("│")] for line in output.getvalue().splitlines()]
    assert ["worker", "14", "12", "2", "17.0", "0.85", "as undisturbed"] in rows
    assert ["host", "14", "12", "2", "30.0", "1.50", "step 13: None instead of (1.0, 2.0)"] in rows
    assert ["worker", "", "", "", "18.0", "0.90", "median"] in rows


@pytest.mark.parametrize(("second", "code"), [(KEPT, 0), (BROKEN, 1)])
def test_a_broken_promise_is_the_exit_code(second: Loss, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bench:
        def __init__(self, *given: object) -> None:
            pass

        def lose(self, number: int, victim: str) -> Loss:
            return (KEPT, second)[number]

    monkeypatch.setattr(recovery, "Bench", Bench)
    with pytest.raises(SystemExit) as ended:
        recovery.main(["--runs", "2"])
    assert int(ended.value.code or 0) == code
