"""Two processes share the tests. A module stays in one, and what starts Ray in one as well: two cores hold one Ray."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Longest first: what begins last should be short.
STARTS_RAY = (
    "rehearsal/test_rehearsal_runs.py",
    "rehearsal/test_kills.py",
    "training/test_training_recovery.py",
    "training/test_training_driver.py",
)
DEPLOYS = (
    "rehearsal/test_deploys.py",
    "rehearsal/test_capacity_modes.py",
    "ops/test_ops_deploy_rehearsed.py",
    "training/test_training_parallel.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names each test's group, and puts the long modules first."""
    order = {name: place for place, name in enumerate((STARTS_RAY[0], *DEPLOYS, *STARTS_RAY[1:]))}
    items.sort(key=lambda item: order.get(_name(item), len(order)))
    for item in items:
        name = _name(item)
        item.add_marker(pytest.mark.xdist_group("ray" if name in STARTS_RAY else name))


def _name(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
