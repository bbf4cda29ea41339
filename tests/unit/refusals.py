"""What a person reads of an environment that cannot be used."""

from typing import Any

import pytest

from environments.loading import SettingsError
from tests.synthesis import settings_with


def check_refusal(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    """Fail unless dev with ``changes`` is refused for one problem, with these texts in its three lines."""
    with pytest.raises(SettingsError) as error:
        settings_with(changes)
    header, _, what, expectation, to_do = str(error.value).split("\n")
    assert header == "environments/dev.toml is not valid: 1 problem"
    assert field in what
    assert expectation.startswith("    expected: ")
    assert expected in expectation
    assert to_do.startswith("    to do:    ")
    assert remedy in to_do


def refused_fields(changes: dict[str, Any]) -> list[str]:
    """Return the settings for which dev with ``changes`` is refused, in order."""
    with pytest.raises(SettingsError) as error:
        settings_with(changes)
    return [refusal.field for refusal in error.value.refusals]
