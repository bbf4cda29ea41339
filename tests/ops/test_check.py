"""`raytrain check`: what it says, in which order, and how it ends."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import ops.check
from eks_ray_train.checks import RULES, Finding, Phase, Severity
from ops.check import check, find
from tests.synthesis import ENVIRONMENTS, settings_with

TODAY = "2026-11-29"


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str, changes: Mapping[str, Any] | None = None) -> Result:
    if changes is not None:
        monkeypatch.setattr(ops.check, "read", lambda name: settings_with(changes, name))
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_shipped_environment_has_no_finding(monkeypatch: pytest.MonkeyPatch, environment: str) -> None:
    result = _run(monkeypatch, environment, "--today", TODAY)
    assert result.exit_code == 0, result.output
    assert result.output.endswith(f"environments/{environment}.toml: {len(RULES)} rules, no finding\n")
    assert "96 vCPUs of quota L-DB2E81BA" in result.output


def test_errors_come_first_then_warnings_and_the_exit_code_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"ray.transport.NCCL_PROTO": "LL128", "ray.head.memory_gib": 14}
    result = _run(monkeypatch, "dev", "--today", TODAY, changes=changes)
    assert result.exit_code == 1
    heading, field, also, proto, words, summary = (
        result.output.index(text)
        for text in (
            "environments/dev.toml cannot work: 1 error",
            "ray.head = 2 CPU, 14.0 GiB for ray-head   [pod-fits]",
            "Also: 1 warning",
            "ray.transport.NCCL_PROTO = LL128",
            "NVIDIA's library with which GPUs exchange tensors",
            "1 error and 1 warning; ",
        )
    )
    assert heading < field < also < proto < words < summary
    assert "Worth knowing" not in result.output


def test_a_warning_alone_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, "dev", "--today", TODAY, changes={"ray.transport.NCCL_PROTO": "LL128"})
    assert result.exit_code == 0
    assert "environments/dev.toml can be deployed, and most likely not as meant: 1 warning" in result.output
    assert f"{len(RULES)} rules, 1 warning" in result.output


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, "dev", "--json", "--today", TODAY, changes={"ray.transport.FI_PROVIDER": "tcp"})
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    (error,) = document["errors"]
    assert (error["code"], error["field"], error["value"]) == ("transport-provider", "ray.transport.FI_PROVIDER", "tcp")
    assert document["warnings"] == []
    assert document["today"] == TODAY
    assert document["tried"] < document["rules"] == len(RULES)
    assert {note["topic"] for note in document["notes"]} >= {"quota", "replacement"}


def test_a_file_that_does_not_load_is_json_too(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"gpu_nodes.count": 0, "gpu_nodes.cuont": 2}
    result = _run(monkeypatch, "dev", "--json", "--today", TODAY, changes=changes)
    document = json.loads(result.stdout)
    assert result.exit_code == 2
    assert {error["code"] for error in document["errors"]} == {"settings"}
    assert {error["field"]: error["value"] for error in document["errors"]} == {
        "gpu_nodes.count": "0",
        "gpu_nodes.cuont": "unknown",
    }
    assert document["errors"][0]["remedy"] == "Give the number of GPU nodes, 1 to 64."
    assert (document["environment"], document["tried"], document["warnings"]) == ("dev", 0, [])


def test_it_prints_nothing_of_cdks(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    result = _run(monkeypatch, "dev", "--today", TODAY, changes={"training.checkpoint_every": 0})
    assert "checkpoints-for-failures" in result.output
    assert "Acknowledge" not in capfd.readouterr().err


def test_the_list_names_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, "--list")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    for rule in RULES:
        assert any(line.startswith(f"{rule.code} ") and rule.description in line for line in lines), rule.code


def test_no_environment_and_an_odd_day_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ENV is missing" in _run(monkeypatch).output
    result = _run(monkeypatch, "dev", "--today", "tomorrow")
    assert result.exit_code == 2
    assert "--today = 'tomorrow'" in result.output


def _codes(found: tuple[list[Finding], tuple[Phase, ...]]) -> list[str]:
    return [finding.code for finding in found[0]]


def test_days_matter_only_here() -> None:
    settings = settings_with({})
    assert _codes(find(settings, date(2026, 11, 29))) == []
    assert _codes(find(settings, date(2027, 7, 1))) == ["kubernetes-ending", "price-age", "price-age"]


def test_what_cannot_be_looked_at_is_not_counted_as_tried() -> None:
    _, phases = find(settings_with({"ray.version": "2.48.0"}), date(2026, 11, 29))
    assert phases == (Phase.SETTINGS, Phase.DATES)
    findings, phases = find(settings_with({"ray.head.memory_gib": 14}), date(2026, 11, 29))
    assert [finding.severity for finding in findings] == [Severity.ERROR]
    assert Phase.TEMPLATES not in phases
