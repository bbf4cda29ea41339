"""What a cold deploy would look like, at a number of stacks at a time, and the AWS sample's serial chain beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.timeline.durations import Duration, Durations
from ops.timeline.graph import IMAGE_ON_GPU_NODES, IMAGE_ON_HEAD, deploy_steps, typical
from ops.timeline.simulate import Placed, critical_path, last_of, simulate

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Span:
    """Seconds: what is typical, and what it would be with every duration at its shortest and longest."""

    typical: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """A deploy with ``concurrency`` stacks at a time.

    ``deployed`` is when the last stack is complete, ``ready`` when the Ray pods have their image too; ``path`` is the
    chain of steps that leads there.
    """

    concurrency: int
    placed: Mapping[str, Placed]
    path: Sequence[Placed]
    deployed: Span
    ready: Span

    def of_stack(self, stack: str) -> tuple[int, int]:
        """When a stack starts and is complete."""
        times = [(each.start, each.end) for each in self.placed.values() if each.step.stack == stack]
        return min(start for start, _ in times), max(end for _, end in times)


def outlook(
    templates: Mapping[str, Json], needs: Mapping[str, Sequence[str]], durations: Durations, *, concurrency: int
) -> Outlook:
    """The typical course, and the ends with every duration at its shortest and longest."""
    courses = [
        simulate(deploy_steps(templates, durations, pick), needs, concurrency=concurrency)
        for pick in (typical, lambda row: row.low, lambda row: row.high)
    ]
    placed = courses[0]
    return Outlook(
        concurrency=concurrency,
        placed=placed,
        path=critical_path(placed, last_of(placed)),
        deployed=_span([placed[last_of(placed, stacks_only=True)].end for placed in courses]),
        ready=_span([placed[last_of(placed)].end for placed in courses]),
    )


def sample_chain(durations: Durations) -> list[Duration]:
    """The AWS sample's scripts one after the other, and the pull of the image, with which its RayCluster begins."""
    return [*durations.sample, durations.image_pull]


def sample_span(durations: Durations) -> Span:
    """How long they take together."""
    rows = sample_chain(durations)
    return _span([sum(row.seconds for row in rows), sum(row.low for row in rows), sum(row.high for row in rows)])


def bases(path: Sequence[Placed], templates: Mapping[str, Json], durations: Durations) -> list[tuple[Placed, Duration]]:
    """The steps of a path with the rows of the table that their durations are from."""
    return [(placed, _row(placed, templates, durations)) for placed in path]


def _row(placed: Placed, templates: Mapping[str, Json], durations: Durations) -> Duration:
    step = placed.step
    if step.id in (IMAGE_ON_GPU_NODES, IMAGE_ON_HEAD):
        return durations.image_pull
    logical_id = step.id.removeprefix(f"{step.stack}/")
    resource = templates[step.stack]["Resources"].get(logical_id)
    return durations.of(resource["Type"] if resource else logical_id, step.stack)


def _span(ends: Sequence[int]) -> Span:
    middle, low, high = ends
    return Span(typical=middle, low=low, high=high)
