"""What .ci/ and .github/ hold: the diff for pull requests on real trees with the real CLI, its comment, CI itself."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / ".ci"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
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
TOPIC, QUEUE, BUCKET = "AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::S3::Bucket"
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


@pytest.fixture(scope="module")
def diff() -> ModuleType:
    loader = SourceFileLoader("ci_diff", str(CI / "diff"))
    spec = importlib.util.spec_from_loader("ci_diff", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_diff"] = module  # where dataclasses looks its module up
    loader.exec_module(module)
    return module


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
    construct = "constructs/eks_ray_train/__init__.py"
    repository.write({"app.py": TINY_APP, construct: f"STACKS = {BEFORE!r}", "environments/old.toml": ""})
    commits["app"] = repository.commit()
    (repository.folder / "environments" / "old.toml").unlink()
    repository.write({construct: f"STACKS = {AFTER!r}"})
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


def test_against_the_account_a_stack_that_cannot_be_looked_up_fails(
    tiny: tuple[Repository, dict[str, str]],
) -> None:
    done = tiny[0].diff("--deployed")

    assert done.returncode == 1
    assert "| dev | Kept (failed) |" in done.stdout
    assert "Unable to resolve AWS account" in done.stdout
    assert "template diff" not in done.stdout


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


def test_only_resources_are_counted_by_what_happens_to_them(diff: ModuleType) -> None:
    text = """Template
[+] Description Description: VPC

IAM Statement Changes
│ - │ ${Results.Arn} │ Allow │

Resources
[-] AWS::S3::Bucket Bkt orphan
[-] Custom::AWSCDK-EKS-KubernetesResource RayTraining/ray-9ea21e4ff5/Resource RayTrainingray9ea21e4ff5B445A098 destroy
[+] AWS::EC2::EIP Network/Vpc/PublicSubnet2/EIP NetworkVpcPublicSubnet2EIP24F41572
[←] AWS::S3::Bucket Import/Resource Import import
[~] AWS::EC2::VPC Network/Vpc NetworkVpc7FB7348F replace
 └─ [~] CidrBlock (requires replacement)
     ├─ [-] 10.9.0.0/16
     └─ [+] 10.0.0.0/16
[~] AWS::EC2::LaunchTemplate Nodes/LaunchTemplate NodesLaunchTemplate5FD055E7 may be replaced
[~] AWS::EKS::Nodegroup Nodes Nodes66C30434

Outputs
[-] Output zzz: {"Value":"AWS::Region destroy"}"""

    assert diff.StackDiff("dev", "Gpu", text).count() == (1, 2, 4)


def test_a_long_comment_is_cut_with_a_notice_in_the_long_stacks_only(diff: ModuleType) -> None:
    report = diff.Report("basis")
    line = "[+] AWS::SNS::Topic Some/Topic/Resource SomeTopic"
    for stack, count in {"Small": 3, "Large": 5000, "Larger": 9000}.items():
        report.add(diff.StackDiff("dev", stack, "\n".join([line] * count)))

    comment = diff.render(report)

    assert 60_000 < len(comment) <= 65_536
    sections = dict(re.findall(r"<summary>dev / (\w+)</summary>(.*?)</details>", comment, flags=re.DOTALL))
    assert sections["Small"].count(line) == 3
    assert "Cut here" not in sections["Small"]
    for stack, count in {"Large": 5000, "Larger": 9000}.items():
        assert sections[stack].count(line) > 500
        assert f"Cut here: {count - sections[stack].count(line)} more lines" in sections[stack]
    assert rows(comment)["Larger"] == ("9000", "0", "0")


def test_a_diff_with_a_fence_inside_stays_inside_its_section(diff: ModuleType) -> None:
    report = diff.Report("basis")
    report.add(diff.StackDiff("dev", "Training", "[+] AWS::SNS::Topic A B\n```` and more"))

    fences = [line for line in diff.render(report).splitlines() if line.startswith("`````")]

    assert fences == ["`````text", "`````"]


def test_a_long_line_is_shortened_to_where_it_changes(diff: ModuleType) -> None:
    start, end = '{"kind":"Job",' + "a" * 2000, "b" * 2000 + "}"
    text = f" ├─ [-] {start}completions:2{end}\n └─ [+] {start}completions:3{end}\n └─ [+] short\n{'c' * 5000}"

    old, new, short, lone = diff.shorten_lines(text).splitlines()

    assert re.fullmatch(r" ├─ \[-\] … a+completions:2b+ …", old)
    assert re.fullmatch(r" └─ \[\+\] … a+completions:3b+ …", new)
    assert len(old) < diff.LONG_LINE
    assert short == " └─ [+] short"
    assert len(lone) < 5000
    assert lone.endswith(" …")


class GitHub(ThreadingHTTPServer):
    """Stands in for GitHub's API: the comments of pull request 7."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GitHubHandler)
        self.comments: list[dict[str, Any]] = []
        self.may_comment = True

    def say(self, login: str, body: str) -> None:
        self.comments.append({"id": 100 + len(self.comments), "user": {"login": login}, "body": body})

    def bodies(self, login: str) -> list[str]:
        return [comment["body"] for comment in self.comments if comment["user"]["login"] == login]


class GitHubHandler(BaseHTTPRequestHandler):
    server: GitHub

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the test's output clean."""

    def answer(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def read(self) -> str:
        body: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return body

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        assert address.path == "/repos/owner/name/issues/7/comments"
        query = parse_qs(address.query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        self.answer(200, self.server.comments[size * (page - 1) : size * page])

    def do_POST(self) -> None:
        body = self.read()
        if not self.server.may_comment or self.headers["Authorization"] != "Bearer token":
            self.answer(403, {"message": "Resource not accessible by integration"})
        elif self.path == "/repos/owner/name/issues/7/comments":
            self.server.say("github-actions[bot]", body)
            self.answer(201, {})
        else:
            self.answer(404, {})

    def do_PATCH(self) -> None:
        body = self.read()
        for comment in self.server.comments:
            if self.path == f"/repos/owner/name/issues/comments/{comment['id']}":
                comment["body"] = body
                self.answer(200, {})
                return
        self.answer(404, {})


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def post(github: GitHub, folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "comment.md").write_text(body)
    variables = {
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": "token",
        "PULL_REQUEST": "7",
        "no_proxy": "*",
    }
    command = [sys.executable, str(CI / "comment"), str(folder / "comment.md")]
    return subprocess.run(command, env={**clean(), **variables}, capture_output=True, text=True)


def test_a_later_push_updates_the_one_comment(diff: ModuleType, github: GitHub, tmp_path: Path) -> None:
    for number in range(130):  # more than one page
        github.say("someone", f"remark {number}")
    github.say("someone", f"{diff.MARKER}\nquoted by a person")
    github.say("github-actions[bot]", "another workflow's")

    first = post(github, tmp_path, f"{diff.MARKER}\nfirst ⚠")
    github.say("someone", "thanks")
    second = post(github, tmp_path, f"{diff.MARKER}\nsecond ⚠")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert github.bodies("github-actions[bot]") == ["another workflow's", f"{diff.MARKER}\nsecond ⚠"]
    assert f"{diff.MARKER}\nquoted by a person" in github.bodies("someone")


def test_a_token_that_may_not_comment_is_no_failure(diff: ModuleType, github: GitHub, tmp_path: Path) -> None:
    github.may_comment = False

    done = post(github, tmp_path, f"{diff.MARKER}\nfrom a fork")

    assert done.returncode == 0, done.stderr
    assert "see the job summary" in done.stdout
    assert github.comments == []


@pytest.fixture
def fake_make(tmp_path: Path) -> Path:
    """A folder with a `make` that writes down its target and fails at the one named in FAIL."""
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/targets\nread line && exit 9\n[ "$1" != "$FAIL" ] || exit 3\n')
    make.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("fail", "targets", "status"),
    [("", ["setup", "check", "test"], 0), ("check", ["setup", "check"], 3)],
)
def test_ci_runs_the_steps_in_turn_and_stops_at_the_first_failure(
    fake_make: Path, fail: str, targets: list[str], status: int
) -> None:
    variables = {"PATH": f"{fake_make}:{os.environ['PATH']}", "FAIL": fail, "GITHUB_ACTIONS": "true", "CI": "true"}
    done = subprocess.run(
        [CI / "run"], env={**clean(), **variables}, input="not for make\n", capture_output=True, text=True
    )

    assert done.returncode == status, done.stderr
    assert (fake_make / "targets").read_text().split() == targets
    assert re.findall(r"^::group::make (\w+)$", done.stdout, flags=re.MULTILINE) == targets
    assert done.stdout.count("::endgroup::") == len(targets)
    outcomes = re.findall(r"^== make (\w+): (\w+) (?:in|after) \d+ s$", done.stdout, flags=re.MULTILINE)
    assert outcomes == [(target, "failed" if target == fail else "passed") for target in targets]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_asks_for_no_more_than_it_uses(path: Path) -> None:
    workflow = yaml.load(path.read_text(), yaml.BaseLoader)  # where `on` stays a word
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    allowed = {
        "ci.yml": {"contents": "read"},
        "diff.yml": {"contents": "read", "id-token": "write", "pull-requests": "write"},
    }

    assert used
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)] == []
    assert workflow["permissions"] == allowed[path.name]
    assert "pull_request_target" not in workflow["on"]
    assert workflow["concurrency"]["cancel-in-progress"] == "true"
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    scripts = {name for step in steps for name in re.findall(r"\.ci/\w+", step.get("run", ""))}
    assert scripts
    assert [name for name in scripts if not os.access(ROOT / name, os.X_OK)] == []
