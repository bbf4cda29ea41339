"""`.ci/diff --base` on real trees with the real CDK command line."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.ci_scripts import BUCKET, CI, QUEUE, ROOT, TINY_APP, TINY_STACKS, TOPIC, Repository, clean, rows

BEFORE = {
    "Kept": {
        "Renamed": (TOPIC, {"TopicName": "one"}, False),
        "Edited": (TOPIC, {"DisplayName": "one"}, False),
        "Dropped": (QUEUE, {}, False),
        "Released": (BUCKET, {}, True),
    },
    "Same": {"Untouched": (TOPIC, {}, False)},
    "Gone": {"Old": (QUEUE, {}, False), "Records": (BUCKET, {}, True)},
}
AFTER = {
    "Kept": {
        "Renamed": (TOPIC, {"TopicName": "two"}, False),
        "Edited": (TOPIC, {"DisplayName": "two"}, False),
        "Fresh": (QUEUE, {}, False),
    },
    "Same": {"Untouched": (TOPIC, {}, False)},
    "Arrived": {"First": (QUEUE, {}, False), "Second": (TOPIC, {}, False)},
}


def test_a_changed_setting_shows_in_the_stacks_that_it_changes_and_in_no_other(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "copy")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=clean(),
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.split("\0"):
        if (ROOT / name).is_file():
            (repository.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, repository.folder / name)
    base = repository.commit()
    settings = (ROOT / "environments" / "dev.toml").read_text()
    grown, times = re.subn(r"(\[gpu_nodes\][^\[]*?\ncount = )2\n", r"\g<1>3\n", settings)
    assert times == 1
    repository.write({"environments/dev.toml": grown})
    head = repository.commit()

    done = repository.diff("--base", "HEAD^1", "--environment", "dev")

    assert done.returncode == 0, done.stderr
    comment = done.stdout
    assert base[:7] in comment
    assert head[:7] not in comment
    assert "not a diff against the account" in comment
    table = rows(comment)
    assert {"Network (unchanged)", "Cluster (unchanged)", "Platform (unchanged)", "Gpu"} <= set(table)
    gpu = comment.split("<summary>dev / Gpu</summary>")[1].split("</details>")[0]
    nodegroup = gpu.split("[~] AWS::EKS::Nodegroup ")[1].split("\n[")[0]
    assert re.search(r"DesiredSize:\n.*\[-\] 2\n.*\[\+\] 3\n", nodegroup)
    assert len(repository.git("worktree", "list").splitlines()) == 1
    assert repository.git("status", "--porcelain") == ""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, dict[str, str]]:
    """A repository whose working tree has the stacks AFTER, and its earlier commits by what they have."""
    repository = Repository(tmp_path_factory.mktemp("tiny"))
    commits = {}
    repository.write({"README.md": "nothing yet"})
    commits["no app"] = repository.commit()
    repository.write({"app.py": "raise SystemExit('the base is broken')", "environments/dev.toml": ""})
    commits["broken app"] = repository.commit()
    repository.write({"app.py": TINY_APP, TINY_STACKS: f"STACKS = {BEFORE!r}", "environments/old.toml": ""})
    commits["app"] = repository.commit()
    (repository.folder / "environments" / "old.toml").unlink()
    repository.write({TINY_STACKS: f"STACKS = {AFTER!r}"})
    return repository, commits


def test_each_tree_has_its_own_code_and_new_removed_and_destroyed_are_told_apart(
    tiny: tuple[Repository, dict[str, str]],
) -> None:
    repository, commits = tiny

    done = repository.diff("--base", commits["app"])

    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == {
        "Kept": ("1", "1", "⚠ **3**"),
        "Same (unchanged)": ("0", "0", "0"),
        "Arrived (new)": ("2", "0", "0"),
        "Gone (removed)": ("0", "0", "⚠ **2**"),
    }
    assert "<summary>⚠ dev / Kept</summary>" in done.stdout
    assert "<summary>dev / Arrived (new)</summary>" in done.stdout
    assert "[-] AWS::SQS::Queue Old destroy" in done.stdout
    assert "[-] AWS::S3::Bucket Records orphan" in done.stdout
    assert "Environment `old` is removed" in done.stdout


@pytest.mark.parametrize(
    ("base", "said"),
    [("no app", ["The base has no `app.py`"]), ("broken app", ["does not synthesise `dev`", "the base is broken"])],
)
def test_a_base_without_templates_is_said_and_everything_is_new(
    tiny: tuple[Repository, dict[str, str]], base: str, said: list[str]
) -> None:
    repository, commits = tiny

    done = repository.diff("--base", commits[base])

    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in said)
    assert rows(done.stdout) == {
        "Kept (new)": ("3", "0", "0"),
        "Same (new)": ("1", "0", "0"),
        "Arrived (new)": ("2", "0", "0"),
    }


def test_a_change_that_does_not_synthesise_fails_and_says_why(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "broken")
    repository.write({"app.py": "raise SystemExit('the head is broken')", "environments/dev.toml": ""})
    repository.commit()

    done = repository.diff("--base", "HEAD")

    assert done.returncode == 1
    assert "the head is broken" in done.stdout
    assert "| dev | (synthesis) (failed) |" in done.stdout


def test_a_call_outside_a_repository_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(CI / "diff"), "--base", "HEAD"], cwd=tmp_path, env=clean(), capture_output=True, text=True
    )

    assert done.returncode == 2
    assert "git rev-parse --show-toplevel = fatal: not a git repository" in done.stderr
    assert f"\n    expected: exit code 0, in a git repository; this is {tmp_path}\n    to do: " in done.stderr


def test_without_git_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(CI / "diff"), "--base", "HEAD"],
        cwd=tmp_path,
        env=clean() | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert done.stderr == "\ngit = not found\n    expected: git on PATH\n    to do:    install it\n\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [(["--base", "nowhere"], "--base = 'nowhere'"), (["--base", "HEAD", "--environment", "x"], "--environment = 'x'")],
)
def test_a_wrong_call_names_the_field_and_what_to_do(
    tiny: tuple[Repository, dict[str, str]], arguments: list[str], field: str
) -> None:
    done = tiny[0].diff(*arguments)

    assert done.returncode == 2
    assert field in done.stderr
    assert "expected:" in done.stderr
    assert "to do:" in done.stderr
    assert done.stdout == ""
