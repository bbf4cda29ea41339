"""What a handler wrote to its log."""

import json
from typing import Any

import pytest


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
