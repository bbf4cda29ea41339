"""`raytrain plan`: the bill, the timeline and the training of an environment, in one command."""

from collections.abc import Mapping
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import ops.plan
from ops.plan import plan
from tests.synthesis import settings_with


def _run(monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, Any]) -> Result:
    monkeypatch.setattr(ops.plan, "read", lambda name: settings_with(changes, name))
    monkeypatch.setenv("COLUMNS", "200")
    app = typer.Typer()
    app.command()(plan)
    return CliRunner().invoke(app, ["dev"])


def test_costs_then_the_timeline_then_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, {})
    assert result.exit_code == 0, result.output
    order = [
        result.output.index(text)
        for text in (
            "g6.12xlarge            2  4.6016    9.2032",
            "9.5498",
            "The GPU nodes bill from about minute ",
            "the capacity that it reserved would bill for 120 minutes at most: $18.41",
            "--concurrency 1",
            "EKS::Cluster",
            "image pull: Ray head",
            "min have a source and the rest are estimates",
            "terraform-aws-modules/terraform-aws-eks#3218",
            "The training, by arithmetic",
            "Qwen/Qwen2.5-1.5B on 2 x 4 L4, hsdp; a step is 8,192 tokens",
            "the run of 200 steps",
            "None of it was measured on these GPUs.",
        )
    ]
    assert order == sorted(order)


def test_a_mode_that_reserves_nothing_and_a_type_without_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = _run(monkeypatch, {"capacity": {"mode": "zone", "zone": "us-east-2a"}})
    assert zone.exit_code == 0
    assert "that it reserved" not in zone.output
    unpriced = _run(monkeypatch, {"gpu_nodes.instance_type": "p5e.48xlarge"})
    assert "more than 0.3466" in unpriced.output
    assert "No On-Demand price is known of p5e.48xlarge" in unpriced.output


def test_an_environment_that_cannot_work_has_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _run(monkeypatch, {"ray.head.memory_gib": 14})
    assert result.exit_code == 1
    assert "[pod-fits]" in result.stderr
    assert "per hour" not in result.stdout
