"""Two processes share the tests. A module stays in one, and what starts Ray in one as well: two cores hold one Ray."""

import os
import signal
from pathlib import Path

import pytest

# moto reads it when it is imported, which an emulated S3 does before the emulated account could set it.
os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"

TESTS = Path(__file__).parent
# Longest first: what begins last should be short.
STARTS_RAY = (
    "rehearsal/test_rehearsal_runs.py",
    "rehearsal/test_kills.py",
    "rehearsal/test_rehearsal_lost_hosts.py",
    "training/test_training_recovery.py",
    "training/test_training_driver.py",
)
DEPLOYS = (
    "rehearsal/test_deploys.py",
    "rehearsal/test_capacity_modes.py",
    "ops/test_ops_deploy_rehearsed.py",
    "training/test_training_parallel.py",
)


def pytest_configure() -> None:
    """Lets SIGINT be a KeyboardInterrupt: a process of pytest-xdist ignores it, and so would what tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Names the test's group; later would be too late, for pytest-xdist reads it before our other hook is called."""
    name = _name(item)
    item.add_marker(pytest.mark.xdist_group("ray" if name in STARTS_RAY else name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the long modules first."""
    order = {name: place for place, name in enumerate((STARTS_RAY[0], *DEPLOYS, *STARTS_RAY[1:]))}
    items.sort(key=lambda item: order.get(_name(item), len(order)))


def _name(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
