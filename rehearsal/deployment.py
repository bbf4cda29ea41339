"""Deploys the environment to the emulated account, runs the RayJob that lands, and takes everything away again."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from k8s.pods import GPU_NODE
from rehearsal.account import ACCOUNT_ID, Account, start_account
from rehearsal.cdk import Cdk
from rehearsal.cluster import Landed, nodes, releases
from rehearsal.errors import RehearsalError
from rehearsal.phases import Phases
from rehearsal.processes import OwnProcesses

if TYPE_CHECKING:
    from environments.settings import Settings as Environment

STACKS = ("Network", "Cluster", "Gpu", "Platform", "Training")
BOOTSTRAP_SECONDS = 180.0
DEPLOY_SECONDS = 600.0


@dataclass(frozen=True)
class Settings:
    """What the user chooses of the deploy; `tools` is a cache that stays.

    After `idle_minutes` without training the environment's GPU nodes are parked; None: never.
    """

    environment: str
    region: str
    idle_minutes: int | None
    tools: Path
    charts: Path | None = None
    crds: Path | None = None


class Deployment:
    """A deployed environment: `account` is where, `outputs` what the stacks say."""

    def __init__(self, account: Account, cdk: Cdk, settings: Settings, assembly: Path, before: dict[str, list[str]]):
        self.account = account
        self._cdk = cdk
        self._idle_minutes = settings.idle_minutes
        self._context = ["-c", f"environment={settings.environment}", "--output", str(assembly)]
        self._before = before
        self.outputs: dict[str, dict[str, str]] = {}

    def deploy(self, outputs: Path) -> None:
        """Run `cdk deploy --all`, and believe it only when every stack and its outputs are there."""
        self._cdk.run(
            "deploy",
            "--all",
            *self._context,
            "--concurrency",
            "3",
            "--outputs-file",
            str(outputs),
            seconds=DEPLOY_SECONDS,
        )
        self.outputs = json.loads(outputs.read_text())
        for name, output in (("Gpu", "AvailabilityZone"), ("Cluster", "ResultsBucketName")):
            if not self._output(name, output):
                raise RehearsalError(
                    f"stack {name}", "deployed", f"its output {output}", "The deploy is green and lost an output."
                )

    def idle(self) -> str:
        """Let time pass without training, and return what became of the GPU nodes. Raises RehearsalError.

        Only the emulated clock moves, and then the stack's schedule looks, as it does every five minutes.
        """
        if self._idle_minutes is None:
            return "stay: cost.idle_minutes is not set"
        self.account.tell("clock", minutes=self._idle_minutes)
        looks = self.account.tell("schedules")
        left = len(nodes(self.account).get(GPU_NODE["role"], []))
        if left or not looks:
            raise RehearsalError(
                "idle GPU nodes",
                f"{left} after {self._idle_minutes} minutes; {json.dumps(looks)}",
                "none",
                "Look at constructs/eks_ray_train/gpu_parking/.",
            )
        return f"{left} left, for {looks[0]['answer']['reason']}"

    def destroy(self) -> list[str]:
        """Run `cdk destroy --all` and return what it left in the account, by kind and name."""
        self._cdk.run("destroy", "--all", "--force", *self._context, seconds=DEPLOY_SECONDS)
        after = self.account.inventory()
        return [
            f"{kind} {name}"
            for kind, names in after.items()
            for name in names
            if name not in self._before.get(kind, [])
        ]

    def facts(self, landed: Landed) -> dict[str, str]:
        """Return what a reader asks of a deploy: where, why there, and what is in it."""
        events = self.account.events()
        created = [event for event in events if event["action"] == "CREATE_COMPLETE"]
        stacks = [event for event in created if event["type"] == "AWS::CloudFormation::Stack"]
        seconds = {re.sub(r"^.*-", "", event["stack"]): event["seconds"] for event in stacks}
        placed = nodes(self.account)
        return {
            "zone": f"{self._output('Gpu', 'AvailabilityZone')} ({self._output('Gpu', 'CapacityTable')})",
            "nodes": "; ".join(
                f"{len(zones)} {role} in {', '.join(sorted(set(zones)))}" for role, zones in placed.items()
            ),
            "releases": ", ".join(releases(self.account)),
            "resources": f"{len(created) - len(stacks)} in {len([s for s in STACKS if s in seconds])} stacks ("
            + ", ".join(f"{name} {seconds[name]:.0f} s" for name in STACKS if name in seconds)
            + ")",
            "job in the cluster": f"namespace {landed.namespace}, run by the stand-in of KubeRay",
        }

    def notes(self) -> list[str]:
        """Return what the emulation says of itself, such as charts that are stand-ins."""
        said = [str(event["reason"]) for event in self.account.events() if event["action"] == "NOTE"]
        return list(dict.fromkeys(said))

    def _output(self, stack: str, output: str) -> str | None:
        values = next((values for name, values in self.outputs.items() if name.endswith(f"-{stack}")), {})
        return values.get(output)


def new_account(
    processes: OwnProcesses,
    repository: Path,
    folder: Path,
    settings: Settings,
    phases: Phases,
    show: Callable[[str], None],
) -> Deployment:
    """Start the emulated account and bootstrap it. Its processes end with `processes`. Raises RehearsalError."""
    with phases.phase("start the emulated AWS and Kubernetes"):
        account = start_account(processes, folder, settings.tools, settings.region, settings.charts, settings.crds)
    cdk = Cdk(processes, repository, account.variables, folder, show)
    with phases.phase("cdk bootstrap"):
        cdk.run("bootstrap", f"aws://{ACCOUNT_ID}/{settings.region}", seconds=BOOTSTRAP_SECONDS)
    return Deployment(account, cdk, settings, folder / "cdk.out", account.inventory())


def load_environment(environment: str) -> "Environment":
    """Return an environment's settings. Raises RehearsalError for one that cannot be loaded."""
    from environments.loading import SettingsError, load

    try:
        return load(environment)
    except SettingsError as error:
        field, _, rest = str(error).partition("\n")
        raise RehearsalError(field, "refused", rest.strip() or "an environment", "Correct it.") from error


def expected_to_stay(item: str) -> bool:
    """Whether AWS keeps `item` for good reason: keys wait a week, and Lambda's own log groups outlive the functions."""
    return item.startswith(("key to be deleted ", "log group /aws/lambda/"))
