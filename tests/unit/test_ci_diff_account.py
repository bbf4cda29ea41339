"""`.ci/diff --deployed`, with the real CDK command line, where there is no account."""

from pathlib import Path

from tests.unit.ci_scripts import QUEUE, TINY_APP, TINY_STACKS, TOPIC, Repository


def test_against_the_account_each_stack_that_cannot_be_looked_up_fails(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "tiny")
    stacks = {
        "One": {"First": (TOPIC, {"TopicName": "first"}, False)},
        "Other": {"Second": (QUEUE, {"QueueName": "second"}, False)},
    }
    repository.write({"app.py": TINY_APP, TINY_STACKS: f"STACKS = {stacks!r}", "environments/dev.toml": ""})

    done = repository.diff("--deployed")

    assert done.returncode == 1
    for stack in stacks:
        assert f"| dev | {stack} (failed) |" in done.stdout
        section = done.stdout.split(f"<summary>⚠ dev / {stack} (failed)</summary>")[1].split("</details>")[0]
        assert "Unable to resolve AWS account" in section
    assert "template diff" not in done.stdout
