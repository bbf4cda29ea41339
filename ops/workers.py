"""Many questions at once, on threads that nobody has to wait for."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def answers(questions: Iterable[tuple[K, Callable[[], V]]], workers: int) -> Iterator[tuple[K, V | Exception]]:
    """Yield each question's key and its answer, or the exception it raised, in the order in which they come.

    At most ``workers`` run at once. Each starts as soon as ``questions`` yields it. The threads are daemons: after a
    Ctrl-C the process ends without waiting for an answer that it no longer wants, so a question must only read.
    """
    waiting: queue.SimpleQueue[tuple[K, Callable[[], V]] | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[K, V | Exception]] = queue.SimpleQueue()

    def work() -> None:
        while (task := waiting.get()) is not None:
            key, question = task
            try:
                done.put((key, question()))
            except Exception as error:
                done.put((key, error))

    asked = 0
    started = 0
    try:
        for task in questions:
            waiting.put(task)
            asked += 1
            if started < workers:
                threading.Thread(target=work, name=f"question-{started}", daemon=True).start()
                started += 1
        for _ in range(asked):
            yield done.get()
    finally:
        for _ in range(started):
            waiting.put(None)


def all_of(*questions: Callable[[], V]) -> list[V]:
    """Ask at once and return the answers in order, or raise what the first that failed raised."""
    told = dict(answers(enumerate(questions), workers=len(questions)))
    found = []
    for number in range(len(questions)):
        answer = told[number]
        if isinstance(answer, Exception):
            raise answer
        found.append(answer)
    return found


def one_by_one(*questions: Callable[[], V]) -> list[V]:
    """Ask one after the other, for comparison."""
    return [question() for question in questions]
