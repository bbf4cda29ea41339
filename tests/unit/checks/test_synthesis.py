"""What synthesis does with findings: errors end it, warnings are CDK's own."""

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match

import app
from app import annotate, build
from tests.synthesis import CODE, new_app, settings_with, synthesise, templates


def test_a_warning_is_an_annotation_and_changes_no_template() -> None:
    settings = settings_with({"training.checkpoint_every": 0})
    stacks = build(new_app(), settings, CODE)
    annotate(stacks, settings)
    (warning,) = Annotations.from_stack(stacks[0]).find_warning("*", Match.any_value())
    text = str(warning.entry.data)
    assert text.startswith("training.checkpoint_every = 0   [checkpoints-for-failures]")
    assert "to do:    set checkpoint_every = 50, or max_failures = 0" in text
    assert "[ack: ray-train:checkpoints-for-failures]" in text
    assert synthesise(settings)["Network"] == templates("dev")["Network"]


def test_without_a_warning_there_is_no_annotation() -> None:
    settings = settings_with({})
    stacks = build(new_app(), settings, CODE)
    annotate(stacks, settings)
    assert Annotations.from_stack(stacks[0]).find_warning("*", Match.any_value()) == []


def test_the_command_line_prints_warnings_and_other_commands_do_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = settings_with({"training.checkpoint_every": 0})
    found: list[cdk.Stack] = build(new_app(), settings, CODE)
    assert Annotations.from_stack(found[0]).find_warning("*", Match.any_value()) == []
    made = new_app()
    made.node.set_context("environment", "dev")
    monkeypatch.setattr(app, "load", lambda _: settings)
    monkeypatch.setattr(cdk, "App", lambda **_: made)
    app.main()
    (network,) = [stack for stack in made.node.children if stack.node.id == "Network"]
    assert isinstance(network, cdk.Stack)
    (warning,) = Annotations.from_stack(network).find_warning("*", Match.any_value())
    assert "[checkpoints-for-failures]" in str(warning.entry.data)


def test_templates_are_checked_before_the_command_line_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made = new_app()
    made.node.set_context("environment", "dev")
    # More system nodes than a subnet has addresses for.
    monkeypatch.setattr(app, "load", lambda name: settings_with({"system_nodes.count": 300}, name))
    monkeypatch.setattr(cdk, "App", lambda **_: made)
    with pytest.raises(SystemExit) as refused:
        app.main()
    assert "environments/dev.toml cannot work: 1 problem\n" in str(refused.value)
    assert "Network: private subnets = 8,192 addresses in 10.0.32.0/19   [subnet-room]" in str(refused.value)
    assert "lower cidr_mask of the private subnets in constructs/eks_ray_train/network.py to 18" in str(refused.value)
