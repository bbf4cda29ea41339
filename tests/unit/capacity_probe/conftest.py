"""The account that each test begins with."""

import pytest

from .fakes import World


@pytest.fixture
def world() -> World:
    return World()
