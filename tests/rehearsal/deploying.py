"""A copy of the app that tests change, and an emulated account that it is deployed to with the real CDK CLI."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3

from rehearsal.account import ACCOUNT_ID, Account, ask_json, start_account
from rehearsal.cdk import Cdk
from rehearsal.cloud.chart_sources import STAND_INS
from rehearsal.cluster import nodes, releases, report_end, wait_for_job
from rehearsal.deployment import BOOTSTRAP_SECONDS, DEPLOY_SECONDS
from rehearsal.processes import OwnProcesses, tail
from tests.rehearsal.killing import alive, below
from tests.rehearsal.watch import ROOT

REGION = "us-east-2"
COPIED = ("app.py", "cdk.json", "environments", "stacks", "constructs", "k8s", "training")
STACK = "AWS::CloudFormation::Stack"
NODE_GROUP = "AWS::EKS::Nodegroup"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
DELETED = "DELETE_COMPLETE"

Event = dict[str, Any]


class Copy:
    """The app's files in a folder of their own, and the commands of its user."""

    def __init__(self, folder: Path, account: Account, processes: OwnProcesses, logs: Path) -> None:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
        # Before the installed package, which is the repository's own.
        variables = {
            **account.variables,
            "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'constructs'}",
            "CDK_VALIDATION": "false",  # it doubles the time of each synthesis, and belongs to other tests
        }
        self.account = account
        self._folder = folder
        self._logs = logs
        self._processes = processes
        self._variables = variables
        self._cdk = Cdk(processes, folder, variables, logs, print)

    def edit(self, before: str, after: str) -> None:
        """Replace a text that is in environments/dev.toml exactly once."""
        path = self._folder / "environments/dev.toml"
        text = path.read_text()
        assert text.count(before) == 1, f"{before!r} is {text.count(before)} times in dev.toml"
        path.write_text(text.replace(before, after))

    @contextmanager
    def settings_kept(self) -> Iterator[None]:
        """Take back, at the end, every edit that is made inside."""
        path = self._folder / "environments/dev.toml"
        text = path.read_text()
        try:
            yield
        finally:
            path.write_text(text)

    def bootstrap(self) -> None:
        """Run `cdk bootstrap`."""
        self._cdk.run("bootstrap", f"aws://{ACCOUNT_ID}/{REGION}", seconds=BOOTSTRAP_SECONDS)

    def deploy(self) -> list[Event]:
        """Run `cdk deploy --all` and return what happened."""
        before = len(self.account.events())
        self._cdk.run("deploy", "--all", "--concurrency", "3", seconds=DEPLOY_SECONDS)
        return self.account.events()[before:]

    def deploy_only(self, *stacks: str) -> list[Event]:
        """Run `cdk deploy` of some stacks, and of none that they need, and return what happened."""
        before = len(self.account.events())
        options = ("--exclusively", "--concurrency", "3")
        self._cdk.run("deploy", *stacks, *options, seconds=DEPLOY_SECONDS)
        return self.account.events()[before:]

    def destroy_only(self, stack: str) -> list[Event]:
        """Run `cdk destroy` of one stack, as last synthesised, and return what happened."""
        before = len(self.account.events())
        options = ("--exclusively", "--force", "--app", "cdk.out")
        self._cdk.run("destroy", stack, *options, seconds=DEPLOY_SECONDS)
        return self.account.events()[before:]

    def finish_job(self) -> None:
        """Say of the job that runs, or will, what Ray would say of one that went well."""
        report_end(self.account, wait_for_job(self.account, print), succeeded=True)

    def diff(self) -> str:
        """Run `cdk diff` against what is deployed."""
        return self._cdk.run("diff", seconds=DEPLOY_SECONDS)

    def pull_request_diff(self) -> str:
        """Run `.ci/diff --deployed` of dev, as a pull request does with credentials that may look, and return it."""
        subprocess.run(["git", "init", "--quiet"], cwd=self._folder, check=True)
        command = [sys.executable, str(ROOT / ".ci/diff"), "--deployed", "--environment", "dev"]
        variables = os.environ | self._variables
        done = subprocess.run(command, cwd=self._folder, env=variables, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def destroy(self) -> list[Event]:
        """Run `cdk destroy --all` and return what happened."""
        before = len(self.account.events())
        self._cdk.run("destroy", "--all", "--force", seconds=DEPLOY_SECONDS)
        return self.account.events()[before:]

    def destroy_and_kill(self, stack: str) -> None:
        """Start `cdk destroy --all` and kill it with everything below it once it has begun to delete `stack`."""
        before = len(self.account.events())
        log = self._logs / "killed.log"
        command = ["npx", "--no-install", "cdk", "destroy", "--all", "--force"]
        path = self._cdk._variables["PATH"]
        process = self._processes.start(command, os.environ | self._variables | {"PATH": path}, self._folder, log)
        end = time.monotonic() + 120
        while not chosen(self.account.events()[before:], stack=stack, type=STACK, action="DELETE_IN_PROGRESS"):
            assert process.poll() is None, tail(log, 30)
            assert time.monotonic() < end, tail(log, 30)
            time.sleep(0.05)
        family = below(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
        # Adopted here: until their exit status is taken, the next CLI believes that this one still reads cdk.out.
        while left := alive(family):
            assert time.monotonic() < end, left
            time.sleep(0.05)

    def objects(self, path: str) -> dict[str, str]:
        """Return the uid by name of the Kubernetes objects of a kind, such as `apis/batch/v1/jobs`."""
        items = ask_json(f"{self.account.kubernetes}/{path}")["items"]
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}

    def state(self) -> "State":
        """Return what there is in the cluster now."""
        checks = {name for name in self.objects("apis/batch/v1/jobs") if name.startswith("fabric-check-")}
        ray_jobs, ray_clusters = self.objects("apis/ray.io/v1/rayjobs"), self.objects("apis/ray.io/v1/rayclusters")
        return State(ray_jobs, ray_clusters, checks, self.objects("api/v1/nodes"))

    @property
    def gpu_node_groups(self) -> list[str]:
        """The node groups of the Gpu stack, whose names are their own for good."""
        return [name for name in self.account.inventory()["node group"] if "-Gpu-" in name]

    @property
    def zones(self) -> dict[str, list[str]]:
        """The zones of the nodes, by role."""
        return nodes(self.account)

    @property
    def releases(self) -> list[str]:
        """The Helm releases."""
        return releases(self.account)

    def limit_capacity(self, zone: str, instance_type: str, count: int | None) -> None:
        """Leave a zone `count` instances; None takes the limit away."""
        self.tell("capacity", zone=zone, instance_type=instance_type, count=count)

    def tell(self, what: str, **fields: Any) -> Any:
        """Ask something of the emulation itself, and return its answer."""
        return self.account.tell(what, **fields)

    def client(self, service: str) -> Any:
        """Return a boto3 client of the account."""
        keys = self.account.variables
        return boto3.client(
            service,
            endpoint_url=self.account.aws,
            region_name=self.account.region,
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        )

    def output(self, stack: str, key: str) -> str:
        """Return an output of a deployed stack."""
        outputs = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        (value,) = [output["OutputValue"] for output in outputs if output["OutputKey"] == key]
        return str(value)


@dataclass(frozen=True)
class State:
    """What a deploy may or may not touch: the uids of objects by name, and the names of the checks of the nodes."""

    ray_jobs: dict[str, str]
    ray_clusters: dict[str, str]
    fabric_checks: set[str]
    nodes: dict[str, str]

    def but(self, **changes: Any) -> "State":
        """Return a copy with other fields."""
        return replace(self, **changes)


@contextmanager
def bootstrapped_copy(folder: Path) -> Iterator[Copy]:
    """Start an account and bootstrap it; nothing of it is left at the end."""
    logs, app = folder / "logs", folder / "app"
    logs.mkdir()
    app.mkdir()
    with OwnProcesses() as processes:
        account = start_account(processes, logs, ROOT / ".rehearsal/tools", REGION, STAND_INS, None)
        copy = Copy(app, account, processes, logs)
        copy.bootstrap()
        yield copy


def chosen(events: list[Event], **wanted: str) -> list[Event]:
    """Return the events whose fields have the wanted values."""
    return [event for event in events if all(event.get(key) == value for key, value in wanted.items())]


def position(events: list[Event], action: str, stack: str, type: str, logical_id: str = "") -> int:
    """Return the place in the log of the one event of `action` whose fields hold these texts."""
    found = [
        place
        for place, event in enumerate(events)
        if event["action"] == action
        and event.get("stack") == stack
        and type in ("", event["type"])
        and event.get("logical_id", "").startswith(logical_id)
    ]
    assert len(found) == 1, f"{action} of {stack} {type} {logical_id}: {[events[place] for place in found]}"
    return found[0]
