"""When each step of a deploy starts and ends: stacks after the stacks that they need, steps after their steps.

A pure function, of steps and nothing else: CloudFormation starts a resource as soon as what it refers to exists, and
the CDK command line a stack as soon as those that it needs are complete and fewer than ``concurrency`` are running.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Step:
    """One resource of a stack, or, with ``stack`` empty, something that no stack waits for.

    ``after`` names steps by id; one of another stack delays this one, and not its stack's start.
    """

    id: str
    stack: str
    label: str
    seconds: int
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A step with its times, in seconds from the start, and the step whose end let it start."""

    step: Step
    start: int
    end: int
    cause: str | None


def simulate(steps: Sequence[Step], needs: Mapping[str, Sequence[str]], *, concurrency: int) -> dict[str, Placed]:
    """Every step, by id, with its times. ``needs`` maps each stack to those that it needs, in the order of deploying.

    Raises:
        ValueError: a step or a stack waits for one that never ends.
    """
    waiting = {step.id: step for step in steps}
    remaining = {stack: {step.id for step in steps if step.stack == stack} for stack in needs}
    running: set[str] = set()
    finished: set[str] = set()
    done: dict[str, Placed] = {}
    active: list[tuple[int, int, str]] = []
    started: dict[str, Placed] = {}

    def start_what_can(now: int, cause: str | None) -> None:
        # A stack without steps is finished at once, and may let another start: hence the loop.
        changed = True
        while changed:
            changed = False
            for stack, needed in needs.items():
                ready = stack not in running | finished and finished.issuperset(needed)
                if ready and len(running) < concurrency:
                    running.add(stack)
                    changed = True
            for stack in [stack for stack in running if not remaining[stack]]:
                running.discard(stack)
                finished.add(stack)
                changed = True
        for id, step in list(waiting.items()):
            if done.keys() >= set(step.after) and (not step.stack or step.stack in running):
                del waiting[id]
                started[id] = Placed(step, now, now + step.seconds, cause)
                heapq.heappush(active, (now + step.seconds, len(started), id))

    start_what_can(0, None)
    while active:
        now, _, id = heapq.heappop(active)
        done[id] = started[id]
        if done[id].step.stack:
            remaining[done[id].step.stack].discard(id)
        start_what_can(now, id)
    if waiting:
        raise ValueError(f"these never start: {', '.join(sorted(waiting))}")
    return done


def critical_path(placed: Mapping[str, Placed], last: str) -> list[Placed]:
    """The chain of steps that ends with ``last``, each of which started when the one before it ended."""
    path = [placed[last]]
    while path[0].cause is not None:
        path.insert(0, placed[path[0].cause])
    return path


def last_of(placed: Mapping[str, Placed], *, stacks_only: bool = False) -> str:
    """The step that ends last; of several, the one that started last."""
    candidates = [each for each in placed.values() if each.step.stack or not stacks_only]
    return max(candidates, key=lambda each: (each.end, each.start)).step.id
