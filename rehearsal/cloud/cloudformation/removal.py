"""Delete resources, those first that others do not need."""

from collections.abc import Iterable, Mapping

from rehearsal.cloud.cloudformation.order import reversed_needs, run_in_order
from rehearsal.cloud.cloudformation.stack import Deployed
from rehearsal.cloud.cloudformation.step import Steps


def remove(resources: Mapping[str, Deployed], steps: Steps) -> dict[str, Exception]:
    """Delete resources in reverse order; return what failed. What a failed one needs is not tried.

    Unlike a deployment, everything that does not wait for a failed resource is still deleted.
    """
    failures: dict[str, Exception] = {}
    left = dict(resources)
    while left:

        def work(name: str) -> None:
            steps.delete(resources[name])
            del left[name]

        failed = run_in_order(reversed_needs({name: item.needs for name, item in left.items()}), work)
        if not failed:
            break
        failures.update(failed)
        for name in _needed_by(failed.keys(), left):
            del left[name]
    return failures


def _needed_by(names: Iterable[str], left: Mapping[str, Deployed]) -> set[str]:
    """Return the named resources and all that they need, directly or not."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in left and name not in found:
            found.add(name)
            waiting.extend(left[name].needs)
    return found
