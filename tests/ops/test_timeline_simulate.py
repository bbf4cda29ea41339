"""The times of steps, against what a person computes by hand."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.timeline.simulate import Placed, Step, critical_path, last_of, simulate

# Two stacks side by side between two others:
#
#   A: a1 (3) -> a2 (5); a3 (2)              8
#   B: b1 (4)                                4   after A
#   C: c1 (1) -> c2 (6)                      7   after A
#   D: d1 (2), which waits for x             2   after B and C
#   x (10), of no stack, after b1
STEPS = (
    Step(id="a1", stack="A", label="", seconds=3),
    Step(id="a2", stack="A", label="", seconds=5, after=("a1",)),
    Step(id="a3", stack="A", label="", seconds=2),
    Step(id="b1", stack="B", label="", seconds=4),
    Step(id="c1", stack="C", label="", seconds=1),
    Step(id="c2", stack="C", label="", seconds=6, after=("c1",)),
    Step(id="d1", stack="D", label="", seconds=2, after=("x",)),
    Step(id="x", stack="", label="", seconds=10, after=("b1",)),
)
NEEDS = {"A": (), "B": ("A",), "C": ("A",), "D": ("B", "C")}


def _ids(path: Sequence[Placed]) -> list[str]:
    return [placed.step.id for placed in path]


def test_two_stacks_at_a_time() -> None:
    placed = simulate(STEPS, NEEDS, concurrency=2)
    assert {id: (each.start, each.end) for id, each in placed.items()} == {
        "a1": (0, 3),
        "a2": (3, 8),
        "a3": (0, 2),
        "b1": (8, 12),
        "c1": (8, 9),
        "c2": (9, 15),
        "d1": (22, 24),
        "x": (12, 22),
    }
    assert _ids(critical_path(placed, last_of(placed))) == ["a1", "a2", "b1", "x", "d1"]


def test_one_stack_at_a_time_is_the_sum_of_the_stacks() -> None:
    steps = [step for step in STEPS if step.stack]
    steps[-1] = Step(id="d1", stack="D", label="", seconds=2)
    placed = simulate(steps, NEEDS, concurrency=1)
    assert placed[last_of(placed)].end == 8 + 4 + 7 + 2
    assert _ids(critical_path(placed, last_of(placed))) == ["a1", "a2", "b1", "c1", "c2", "d1"]
    assert simulate(steps, NEEDS, concurrency=2)["d1"].end == 8 + 7 + 2


def test_what_no_stack_waits_for_can_end_last() -> None:
    steps = [
        *STEPS[:-2],
        Step(id="x", stack="", label="", seconds=30, after=("a3",)),
        Step(id="d1", stack="D", label="", seconds=2),
    ]
    placed = simulate(steps, NEEDS, concurrency=2)
    assert last_of(placed) == "x"
    assert placed["x"].end == 32
    assert last_of(placed, stacks_only=True) == "d1"


def test_a_stack_without_steps_holds_nothing_up() -> None:
    placed = simulate([Step(id="b1", stack="B", label="", seconds=4)], {"A": (), "B": ("A",)}, concurrency=1)
    assert placed["b1"].end == 4


def test_a_circle_is_told() -> None:
    steps = [
        Step(id="a", stack="A", label="", seconds=1, after=("b",)),
        Step(id="b", stack="A", label="", seconds=1, after=("a",)),
    ]
    with pytest.raises(ValueError, match="these never start: a, b"):
        simulate(steps, {"A": ()}, concurrency=1)


@st.composite
def _deploys(draw: st.DrawFn) -> tuple[list[Step], Mapping[str, Sequence[str]]]:
    names = "ABCDE"[: draw(st.integers(1, 5))]
    needs = {name: tuple(draw(st.sets(st.sampled_from(names[:i])))) if i else () for i, name in enumerate(names)}
    steps: list[Step] = []
    for name in names:
        own: list[str] = []
        for index in range(draw(st.integers(1, 4))):
            after = tuple(draw(st.sets(st.sampled_from(own)))) if own else ()
            seconds = draw(st.integers(0, 20))
            steps.append(Step(id=f"{name}{index}", stack=name, label="", seconds=seconds, after=after))
            own.append(f"{name}{index}")
    return steps, needs


@given(_deploys())
def test_the_critical_path_has_no_gap_and_one_at_a_time_is_the_sum(
    deploy: tuple[list[Step], Mapping[str, Sequence[str]]],
) -> None:
    steps, needs = deploy
    wide, narrow = (simulate(steps, needs, concurrency=concurrency) for concurrency in (len(needs), 1))
    for placed in (wide, narrow):
        path = critical_path(placed, last_of(placed))
        assert sum(each.step.seconds for each in path) == placed[last_of(placed)].end
        assert path[0].start == 0
    alone = sum(
        max(
            each.end
            for each in simulate([step for step in steps if step.stack == name], {name: ()}, concurrency=1).values()
        )
        for name in needs
    )
    assert narrow[last_of(narrow)].end == alone
    assert wide[last_of(wide)].end <= alone
