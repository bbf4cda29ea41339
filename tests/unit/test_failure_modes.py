"""docs/failure-modes.md and the tests name the same failures."""

import re

from tests.synthesis import REPOSITORY


def test_each_failure_of_the_table_has_a_test_and_each_test_a_row() -> None:
    table = (REPOSITORY / "docs" / "failure-modes.md").read_text()
    rows = re.findall(r"^\| ([A-H]\d+) \|", table, flags=re.MULTILINE)
    assert len(rows) == len(set(rows))
    marks = {
        mark
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        for mark in re.findall(r'failure_mode\("([A-H]\d+)"\)', path.read_text())
    }
    assert set(rows) == marks
    assert len(rows) >= 40
