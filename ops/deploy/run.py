"""The deploy itself: the CDK command line, and after a zone without room the next one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
from rich.console import Console

from environments.settings import Settings
from ops.account import AWS_ERRORS, client, explain
from ops.capacity import probe
from ops.deploy import bill, cdk
from ops.deploy.before import check_stacks, settled
from ops.deploy.capacity_first import candidates
from ops.deploy.failure import Failure, last_operation, read_failure
from ops.deploy.failure_kinds import Kind
from ops.deploy.stacks import Stack, stack_name, stuck
from ops.deploy.view import show_done, show_standing
from ops.environment_file import change, exclude_zone
from ops.errors import ExitCode
from ops.reporting import say


@dataclass(frozen=True)
class Run:
    """A deploy of one environment; ``further`` goes to the CDK command line."""

    session: boto3.Session
    console: Console
    further: Sequence[str]
    cloudformation: Any
    autoscaling: Any

    @classmethod
    def of(cls, session: boto3.Session, settings: Settings, console: Console, further: Sequence[str]) -> "Run":
        """With the clients of the environment's region."""
        made = [client(session, service, settings.region) for service in ("cloudformation", "autoscaling")]
        return cls(session, console, further, *made)

    def until_deployed(self, settings: Settings, before: Mapping[str, Stack]) -> ExitCode:
        """Deploy, going on with the next zone while EC2 has no room; say at the end what exists and costs.

        Raises:
            OpsError: it failed, and left a stack that needs another command first; that is said as well.
        """
        new_nodes = not before["Gpu"].works
        gpu = stack_name(settings, "Gpu")
        while True:
            operation = last_operation(self.cloudformation, gpu)
            if cdk.deploy(settings.name, self.further) == 0:
                stacks = settled(self.cloudformation, settings, self.console)
                show_done(self.console, settings, stacks, bill.of(settings, stacks))
                return ExitCode.OK
            stacks = settled(self.cloudformation, settings, self.console)
            failure = self._read_failure(gpu, operation)
            self._explain(failure)
            code = ExitCode.FAILED if failure is None else failure.kind.code
            following = None if stuck(stacks, settings.name) else self._without_zone_of(failure, settings, new_nodes)
            if following is None:
                show_standing(self.console, settings, stacks, bill.of(settings, stacks, self._clients(settings)))
                check_stacks(stacks, settings, (), code)
                return code
            settings = following

    def interrupted(self, settings: Settings) -> None:
        """Say what goes on without this process."""
        say(
            self.console,
            "\nStopped here. What CloudFormation has begun it goes on with, and it costs. To pick up where this "
            f"stopped: raytrain deploy {settings.name}. "
            f"To end it: npx cdk destroy --all -c environment={settings.name}",
        )

    def _read_failure(self, gpu: str, operation: str | None) -> Failure | None:
        """What failed in the Gpu stack since ``operation``; that it cannot be read is no reason to hide the bill."""
        try:
            changed = last_operation(self.cloudformation, gpu) != operation
            return read_failure(self.cloudformation, self.autoscaling, gpu) if changed else None
        except AWS_ERRORS as error:
            why = str(explain(error, self.cloudformation.meta.region_name)).splitlines()[0]
            say(self.console, f"\nWhether the Gpu stack failed for capacity could not be read: {why}")
            return None

    def _explain(self, failure: Failure | None) -> None:
        if failure is None:
            say(self.console, "\nThe deploy failed; the CDK command line says why, above.")
            return
        say(self.console, f"\nThe Gpu stack failed: {failure.kind.value}.\n  {failure.reason}")
        if failure.said:
            say(self.console, f"  The Auto Scaling group's last error: {failure.said}")

    def _without_zone_of(self, failure: Failure | None, settings: Settings, new_nodes: bool) -> Settings | None:
        """Exclude the zone that had no room, and return the settings to go on with, or None to stop."""
        if failure is None or failure.kind is not Kind.LAUNCH or failure.zone is None:
            return None
        file = f"environments/{settings.name}.toml"
        if settings.capacity.mode in ("zone", "reservation"):
            say(self.console, f"capacity.mode = {settings.capacity.mode!r} names the zone: there is no other to try.")
            return None
        left = [zone for zone in candidates(settings) if zone != failure.zone]
        if not left:
            say(self.console, f"{failure.zone} was the last zone. Try later, or: raytrain capacity --all-regions")
            return None
        if not new_nodes:
            say(
                self.console,
                "The nodes that run stay where they are: another zone would replace them. To do that all the same, "
                f"add {failure.zone!r} to capacity.exclude_zones in {file}, then raytrain deploy {settings.name}.",
            )
            return None
        zone = failure.zone
        following = change(settings.name, lambda document: exclude_zone(document, zone))
        say(
            self.console,
            f"{zone} is now in capacity.exclude_zones of {file}, so that a plain cdk deploy agrees; taking it out "
            "later has the probe choose again, and another zone replaces the nodes. Going on with "
            f"{', '.join(left)}.",
        )
        return following

    def _clients(self, settings: Settings) -> probe.Clients:
        return probe.connect(self.session, settings.region)
