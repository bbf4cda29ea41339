"""The scripts of .ci/ as the tests run them: in throw-away repositories, and away from any account."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / ".ci"
TINY_APP = """
import aws_cdk as cdk
from eks_ray_train import STACKS  # which the tools' virtual environment has too, and must not come from there

app = cdk.App(analytics_reporting=False)
for name, resources in STACKS.items():
    stack = cdk.Stack(app, name)
    for id, (type, properties, retained) in resources.items():
        resource = cdk.CfnResource(stack, id, type=type, properties=properties)
        if retained:
            resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
app.synth()
"""
# The module of a tree from which TINY_APP takes its stacks.
TINY_STACKS = "constructs/eks_ray_train/__init__.py"
TOPIC, QUEUE, BUCKET = "AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::S3::Bucket"


class Repository:
    """A throw-away git repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "core.hooksPath=/dev/null"]
        command = ["git", *who, *arguments]
        return subprocess.run(command, cwd=self.folder, env=clean(), check=True, capture_output=True, text=True).stdout

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A state")
        return self.git("rev-parse", "HEAD").strip()

    def diff(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(CI / "diff"), *arguments]
        return subprocess.run(command, cwd=self.folder, env=clean(), capture_output=True, text=True)


def clean() -> dict[str, str]:
    """The environment without what would lead git to another repository, or the CDK to an account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "AWS_"))}
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    return {**kept, **nowhere, "AWS_EC2_METADATA_DISABLED": "true"}


def rows(comment: str) -> dict[str, tuple[str, str, str]]:
    """The table: added, changed, and replaced or destroyed, by stack."""
    found = re.findall(r"^\| dev \| (.+?) \| (.*?) \| (.*?) \| (.*?) \|$", comment, flags=re.MULTILINE)
    return {stack: (added, changed, destroyed) for stack, added, changed, destroyed in found}


def part_of_diff(name: str) -> ModuleType:
    """A module of .ci/cdk_diff, found as .ci/diff finds it: in the folder of the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(CI)
        return importlib.import_module(f"cdk_diff.{name}")
