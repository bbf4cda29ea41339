"""Questions on threads: at once, bounded, and errors kept apart."""

import threading
from collections.abc import Callable, Iterator

import pytest

from ops.workers import all_of, answers, one_by_one


def test_as_many_run_at_once_as_allowed_and_no_more() -> None:
    together = threading.Barrier(3, timeout=10)
    lock = threading.Lock()
    running, most = 0, 0

    def question() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # passes only when three are here at once
        with lock:
            running -= 1
        return 1

    assert sum(1 for _, said in answers(((n, question) for n in range(9)), workers=3) if said == 1) == 9
    assert most == 3


def test_the_first_starts_before_the_last_is_known() -> None:
    started = threading.Event()

    def questions() -> Iterator[tuple[int, Callable[[], None]]]:
        yield 1, started.set
        assert started.wait(10)
        yield 2, started.set

    assert {key for key, _ in answers(questions(), workers=2)} == {1, 2}


def test_an_error_is_an_answer_to_its_own_question_only() -> None:
    def fail() -> int:
        raise ValueError("no")

    told = dict(answers([("good", lambda: 1), ("bad", fail)], workers=2))

    assert told["good"] == 1
    assert isinstance(told["bad"], ValueError)


@pytest.mark.parametrize("ask", [all_of, one_by_one])
def test_answers_come_in_the_order_of_the_questions(ask: object) -> None:
    assert ask(lambda: 1, lambda: 2, lambda: 3) == [1, 2, 3]  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        ask(lambda: 1, lambda: 1 // 0)  # type: ignore[operator]
